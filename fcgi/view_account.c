#include "fcgi/view.h"

void view_id(struct json_out *json, const char *name, enum id_kind kind,
             int64_t id)
{
    char text[ID_TEXT_BYTES];

    if (id == 0) {
        json_knull(json, name);
    } else {
        json_kstr(json, name, id_text(kind, id, text));
    }
}

static void put_class(struct json_out *json, const char *name, int64_t used,
                      int64_t limit)
{
    json_key(json, name);
    json_open_object(json);
    json_ki64(json, "used", used);
    json_ki64(json, "limit", limit);
    json_close_object(json);
}

void view_occupancy(struct json_out *json, const struct occupancy *o,
                    const struct conf *conf)
{
    json_open_object(json);
    put_class(json, "short", o->used[SLOT_SHORT], conf->short_limit);
    put_class(json, "background", o->used[SLOT_BACKGROUND],
              conf->background_limit);
    json_close_object(json);
}
