-- The audit log.

-- stmt: AUDIT_INSERT write params=9 cols=0
INSERT INTO audit (at_ms, account_id, actor, actor_id, address, action,
                   subject, outcome, detail)
VALUES (:at_ms, :account, :actor, :actor_id, :address, :action, :subject,
        :outcome, :detail);

-- stmt: AUDIT_PAGE read params=3 cols=10
SELECT id, at_ms, account_id, actor, actor_id, address, action, subject,
       outcome, detail
  FROM audit
 WHERE account_id = :account AND id < :before
 ORDER BY id DESC
 LIMIT :limit;

-- stmt: AUDIT_PAGE_ALL read params=2 cols=10
SELECT id, at_ms, account_id, actor, actor_id, address, action, subject,
       outcome, detail
  FROM audit
 WHERE id < :before
 ORDER BY id DESC
 LIMIT :limit;
