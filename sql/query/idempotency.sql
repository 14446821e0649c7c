-- stmt: IDEMPOTENCY_GET read params=2 cols=6
SELECT fingerprint, conversation_id, message_id, run_id, handoff_id,
       token_id
  FROM idempotency
 WHERE account_id = :account AND key = :key;

-- stmt: IDEMPOTENCY_INSERT write params=9 cols=0
INSERT INTO idempotency (account_id, key, fingerprint, conversation_id,
                         message_id, run_id, handoff_id, token_id, created_ms)
VALUES (:account, :key, :fingerprint, :conversation, :message, :run, :handoff,
        :token, :now_ms);
