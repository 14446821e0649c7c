-- The audit log.

-- stmt: AUDIT_INSERT write params=9 cols=0
INSERT INTO audit (at_ms, account_id, actor, actor_id, address, action,
                   subject, outcome, detail)
VALUES (:at_ms, :account, :actor, :actor_id, :address, :action, :subject,
        :outcome, :detail);

-- stmt: AUDIT_PRUNE write scan params=2 cols=0
-- Of the :limit oldest lines those that are old enough. Scan: of the inner list.
DELETE FROM audit
 WHERE id IN (SELECT id FROM audit ORDER BY id LIMIT :limit)
   AND at_ms < :before_ms;

-- stmt: AUDIT_PRUNED read params=0 cols=1
-- How many the statement before has removed.
SELECT changes();

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
