#include "fcgi/read.h"

enum rc read_begin(const struct ask *ask, struct read *read)
{
    enum rc rc = store_read_begin(ask->store, &read->view);

    if (rc != RC_OK) {
        return rc;
    }
    read->account_id = 0;
    rc = store_account_find(ask->store, ask->account, &read->account_id);
    if (rc == RC_NOT_FOUND) {
        rc = RC_OK;
    }
    if (rc != RC_OK) {
        store_read_end(ask->store);
    }
    return rc;
}

void read_end(const struct ask *ask)
{
    store_read_end(ask->store);
}

void read_put_view(struct json_out *json, const struct read *read)
{
    json_ki64(json, "as_of", read->view.as_of);
    json_kstr(json, "feed", read->view.feed);
}
