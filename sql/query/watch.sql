-- For whom there is something to tell.

-- stmt: WATCH_ACCOUNTS read params=2 cols=1
-- seq is not stored past :newest when this runs outside a read transaction, or
-- the caller would take a later change for told.
SELECT name FROM account
 WHERE id IN (SELECT account_id FROM change
               WHERE seq > :after AND seq <= :newest);
