-- stmt: IDEMPOTENCY_GET read params=2 cols=5
SELECT fingerprint, conversation_id, message_id, run_id, handoff_id
  FROM idempotency
 WHERE account_id = :account AND key = :key;

-- stmt: IDEMPOTENCY_INSERT write params=8 cols=0
INSERT INTO idempotency (account_id, key, fingerprint, conversation_id,
                         message_id, run_id, handoff_id, created_ms)
VALUES (:account, :key, :fingerprint, :conversation, :message, :run, :handoff,
        :now_ms);
