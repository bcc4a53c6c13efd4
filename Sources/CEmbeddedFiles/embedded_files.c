#include "embedded_files.h"

// C23 has it; clang knows it in every mode.
#pragma clang diagnostic ignored "-Wc23-extensions"

// A file is an array here and a line in the list below. Those in pages/assets are served as /assets/{name}.

static const unsigned char openapi[] = {
#embed "../../openapi.yaml"
};

static const unsigned char publish_page[] = {
#embed "../../pages/publish.html"
};

static const unsigned char watch_page[] = {
#embed "../../pages/watch.html"
};

static const unsigned char embed_page[] = {
#embed "../../pages/embed.html"
};

static const unsigned char watch_script[] = {
#embed "../../pages/assets/watch.js"
};

static const unsigned char watch_style[] = {
#embed "../../pages/assets/watch.css"
};

static const unsigned char player_script[] = {
#embed "../../pages/assets/player.js"
};

static const unsigned char player_codecs_script[] = {
#embed "../../pages/assets/player-codecs.js"
};

static const unsigned char player_controls_script[] = {
#embed "../../pages/assets/player-controls.js"
};

static const unsigned char player_flv_script[] = {
#embed "../../pages/assets/player-flv.js"
};

static const unsigned char player_media_script[] = {
#embed "../../pages/assets/player-media.js"
};

static const unsigned char player_mp4_script[] = {
#embed "../../pages/assets/player-mp4.js"
};

static const unsigned char player_policy_script[] = {
#embed "../../pages/assets/player-policy.js"
};

static const unsigned char player_track_script[] = {
#embed "../../pages/assets/player-track.js"
};

static const unsigned char player_webrtc_script[] = {
#embed "../../pages/assets/player-webrtc.js"
};

static const unsigned char player_whep_script[] = {
#embed "../../pages/assets/player-whep.js"
};

static const unsigned char watch_names_script[] = {
#embed "../../pages/assets/watch-names.js"
};

static const unsigned char publish_script[] = {
#embed "../../pages/assets/publish.js"
};

static const unsigned char publish_style[] = {
#embed "../../pages/assets/publish.css"
};

static const unsigned char publish_devices_script[] = {
#embed "../../pages/assets/publish-devices.js"
};

static const unsigned char publish_people_script[] = {
#embed "../../pages/assets/publish-people.js"
};

static const unsigned char publish_awake_script[] = {
#embed "../../pages/assets/publish-awake.js"
};

static const unsigned char page_room_script[] = {
#embed "../../pages/assets/page-room.js"
};

static const unsigned char publish_whip_script[] = {
#embed "../../pages/assets/publish-whip.js"
};

static const unsigned char chat_script[] = {
#embed "../../pages/assets/chat.js"
};

static const unsigned char chat_style[] = {
#embed "../../pages/assets/chat.css"
};

static const unsigned char console_page[] = {
#embed "../../pages/console.html"
};

static const unsigned char layout_schema[] = {
#embed "../../layouts/layout.schema.json"
};

static const unsigned char console_api_script[] = {
#embed "../../pages/assets/console-api.js"
};

static const unsigned char console_diff_script[] = {
#embed "../../pages/assets/console-diff.js"
};

static const unsigned char console_dom_script[] = {
#embed "../../pages/assets/console-dom.js"
};

static const unsigned char console_editor_style[] = {
#embed "../../pages/assets/console-editor.css"
};

static const unsigned char console_feed_script[] = {
#embed "../../pages/assets/console-feed.js"
};

static const unsigned char console_history_script[] = {
#embed "../../pages/assets/console-history.js"
};

static const unsigned char console_json_script[] = {
#embed "../../pages/assets/console-json.js"
};

static const unsigned char console_layout_editor_script[] = {
#embed "../../pages/assets/console-layout-editor.js"
};

static const unsigned char console_layout_preview_script[] = {
#embed "../../pages/assets/console-layout-preview.js"
};

static const unsigned char console_layout_versions_script[] = {
#embed "../../pages/assets/console-layout-versions.js"
};

static const unsigned char console_layouts_script[] = {
#embed "../../pages/assets/console-layouts.js"
};

static const unsigned char console_panes_script[] = {
#embed "../../pages/assets/console-panes.js"
};

static const unsigned char console_parts_style[] = {
#embed "../../pages/assets/console-parts.css"
};

static const unsigned char console_room_files_script[] = {
#embed "../../pages/assets/console-room-files.js"
};

static const unsigned char console_room_outputs_script[] = {
#embed "../../pages/assets/console-room-outputs.js"
};

static const unsigned char console_param_field_script[] = {
#embed "../../pages/assets/console-param-field.js"
};

static const unsigned char console_layout_values_script[] = {
#embed "../../pages/assets/console-layout-values.js"
};

static const unsigned char console_room_params_script[] = {
#embed "../../pages/assets/console-room-params.js"
};

static const unsigned char console_pictures_script[] = {
#embed "../../pages/assets/console-pictures.js"
};
static const unsigned char console_room_chat_script[] = {
#embed "../../pages/assets/console-room-chat.js"
};
static const unsigned char console_room_people_script[] = {
#embed "../../pages/assets/console-room-people.js"
};

static const unsigned char console_room_settings_script[] = {
#embed "../../pages/assets/console-room-settings.js"
};

static const unsigned char console_room_script[] = {
#embed "../../pages/assets/console-room.js"
};

static const unsigned char console_rooms_script[] = {
#embed "../../pages/assets/console-rooms.js"
};

static const unsigned char console_schema_script[] = {
#embed "../../pages/assets/console-schema.js"
};

static const unsigned char console_service_script[] = {
#embed "../../pages/assets/console-service.js"
};

static const unsigned char console_text_script[] = {
#embed "../../pages/assets/console-text.js"
};

static const unsigned char console_ui_script[] = {
#embed "../../pages/assets/console-ui.js"
};

static const unsigned char console_webhook_script[] = {
#embed "../../pages/assets/console-webhook.js"
};

static const unsigned char console_webhooks_script[] = {
#embed "../../pages/assets/console-webhooks.js"
};

static const unsigned char console_words_script[] = {
#embed "../../pages/assets/console-words.js"
};

static const unsigned char console_style[] = {
#embed "../../pages/assets/console.css"
};

static const unsigned char console_script[] = {
#embed "../../pages/assets/console.js"
};

#define FILE_AT(path, bytes) {path, bytes, sizeof bytes}

static const struct embedded_file files[] = {
    FILE_AT("openapi.yaml", openapi),
    FILE_AT("pages/publish.html", publish_page),
    FILE_AT("pages/watch.html", watch_page),
    FILE_AT("pages/embed.html", embed_page),
    FILE_AT("pages/console.html", console_page),
    FILE_AT("layouts/layout.schema.json", layout_schema),
    FILE_AT("pages/assets/console-api.js", console_api_script),
    FILE_AT("pages/assets/console-diff.js", console_diff_script),
    FILE_AT("pages/assets/console-dom.js", console_dom_script),
    FILE_AT("pages/assets/console-editor.css", console_editor_style),
    FILE_AT("pages/assets/console-feed.js", console_feed_script),
    FILE_AT("pages/assets/console-history.js", console_history_script),
    FILE_AT("pages/assets/console-json.js", console_json_script),
    FILE_AT("pages/assets/console-layout-editor.js", console_layout_editor_script),
    FILE_AT("pages/assets/console-layout-preview.js", console_layout_preview_script),
    FILE_AT("pages/assets/console-layout-versions.js", console_layout_versions_script),
    FILE_AT("pages/assets/console-layouts.js", console_layouts_script),
    FILE_AT("pages/assets/console-panes.js", console_panes_script),
    FILE_AT("pages/assets/console-parts.css", console_parts_style),
    FILE_AT("pages/assets/console-room-files.js", console_room_files_script),
    FILE_AT("pages/assets/console-room-outputs.js", console_room_outputs_script),
    FILE_AT("pages/assets/console-param-field.js", console_param_field_script),
    FILE_AT("pages/assets/console-layout-values.js", console_layout_values_script),
    FILE_AT("pages/assets/console-room-params.js", console_room_params_script),
    FILE_AT("pages/assets/console-pictures.js", console_pictures_script),
    FILE_AT("pages/assets/console-room-chat.js", console_room_chat_script),
    FILE_AT("pages/assets/console-room-people.js", console_room_people_script),
    FILE_AT("pages/assets/console-room-settings.js", console_room_settings_script),
    FILE_AT("pages/assets/console-room.js", console_room_script),
    FILE_AT("pages/assets/console-rooms.js", console_rooms_script),
    FILE_AT("pages/assets/console-schema.js", console_schema_script),
    FILE_AT("pages/assets/console-service.js", console_service_script),
    FILE_AT("pages/assets/console-text.js", console_text_script),
    FILE_AT("pages/assets/console-ui.js", console_ui_script),
    FILE_AT("pages/assets/console-webhook.js", console_webhook_script),
    FILE_AT("pages/assets/console-webhooks.js", console_webhooks_script),
    FILE_AT("pages/assets/console-words.js", console_words_script),
    FILE_AT("pages/assets/console.css", console_style),
    FILE_AT("pages/assets/console.js", console_script),
    FILE_AT("pages/assets/player.js", player_script),
    FILE_AT("pages/assets/player-codecs.js", player_codecs_script),
    FILE_AT("pages/assets/player-controls.js", player_controls_script),
    FILE_AT("pages/assets/player-flv.js", player_flv_script),
    FILE_AT("pages/assets/player-media.js", player_media_script),
    FILE_AT("pages/assets/player-mp4.js", player_mp4_script),
    FILE_AT("pages/assets/player-policy.js", player_policy_script),
    FILE_AT("pages/assets/player-track.js", player_track_script),
    FILE_AT("pages/assets/player-webrtc.js", player_webrtc_script),
    FILE_AT("pages/assets/player-whep.js", player_whep_script),
    FILE_AT("pages/assets/watch-names.js", watch_names_script),
    FILE_AT("pages/assets/watch.js", watch_script),
    FILE_AT("pages/assets/watch.css", watch_style),
    FILE_AT("pages/assets/chat.js", chat_script),
    FILE_AT("pages/assets/chat.css", chat_style),
    FILE_AT("pages/assets/publish.js", publish_script),
    FILE_AT("pages/assets/publish.css", publish_style),
    FILE_AT("pages/assets/publish-devices.js", publish_devices_script),
    FILE_AT("pages/assets/publish-people.js", publish_people_script),
    FILE_AT("pages/assets/publish-whip.js", publish_whip_script),
    FILE_AT("pages/assets/publish-awake.js", publish_awake_script),
    FILE_AT("pages/assets/page-room.js", page_room_script),
};

const struct embedded_file *embedded_files(size_t *count) {
    *count = sizeof files / sizeof files[0];
    return files;
}
