// GStreamer for GStreamerKit: the headers, and inline functions only for what Swift cannot import
// (macros, variadic functions, mutable globals).
#ifndef CGSTREAMER_SHIM_H
#define CGSTREAMER_SHIM_H

#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/gst.h>
#include <gst/rtsp/gstrtspmessage.h>
#include <string.h>
#include <gst/video/video.h>

static inline GstBus *cgst_pipeline_bus(GstElement *element) {
    return GST_IS_PIPELINE(element) ? gst_pipeline_get_bus(GST_PIPELINE(element)) : NULL;
}

static inline GstElement *cgst_bin_by_name(GstElement *element, const char *name) {
    return GST_IS_BIN(element) ? gst_bin_get_by_name(GST_BIN(element), name) : NULL;
}

static inline GstBin *cgst_bin(GstElement *element) {
    return GST_IS_BIN(element) ? GST_BIN(element) : NULL;
}

static inline gboolean cgst_is_pipeline(GstElement *element) { return GST_IS_PIPELINE(element); }

static inline GstAppSrc *cgst_app_source(GstElement *element) {
    return GST_IS_APP_SRC(element) ? GST_APP_SRC(element) : NULL;
}

static inline GstAppSink *cgst_app_sink(GstElement *element) {
    return GST_IS_APP_SINK(element) ? GST_APP_SINK(element) : NULL;
}

static inline void cgst_set_name(GstElement *element, const char *name) {
    gst_object_set_name(GST_OBJECT(element), name);
}

/// Newly allocated.
static inline char *cgst_object_name(gpointer object) {
    return GST_IS_OBJECT(object) ? gst_object_get_name(GST_OBJECT(object)) : NULL;
}

static inline GstMessageType cgst_message_type(GstMessage *message) { return GST_MESSAGE_TYPE(message); }
static inline GstObject *cgst_message_source(GstMessage *message) { return GST_MESSAGE_SRC(message); }

static inline void cgst_buffer_unref(GstBuffer *buffer) { gst_buffer_unref(buffer); }
static inline GstBuffer *cgst_buffer_ref(GstBuffer *buffer) { return gst_buffer_ref(buffer); }
static inline GstBuffer *cgst_buffer_copy(GstBuffer *buffer) { return gst_buffer_copy(buffer); }
static inline gboolean cgst_buffer_is_writable(GstBuffer *buffer) { return gst_buffer_is_writable(buffer); }
static inline guint cgst_buffer_flags(GstBuffer *buffer) { return GST_BUFFER_FLAGS(buffer); }
static inline void cgst_buffer_set_delta(GstBuffer *buffer, gboolean delta) {
    if (delta) {
        GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT);
    } else {
        GST_BUFFER_FLAG_UNSET(buffer, GST_BUFFER_FLAG_DELTA_UNIT);
    }
}
static inline void cgst_buffer_set_header(GstBuffer *buffer) {
    GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_HEADER);
}
static inline guint cgst_flag_delta(void) { return GST_BUFFER_FLAG_DELTA_UNIT; }
static inline guint cgst_flag_discontinuity(void) { return GST_BUFFER_FLAG_DISCONT; }
static inline guint cgst_flag_corrupted(void) { return GST_BUFFER_FLAG_CORRUPTED; }
static inline guint cgst_flag_header(void) { return GST_BUFFER_FLAG_HEADER; }

static inline void cgst_caps_unref(GstCaps *caps) { gst_caps_unref(caps); }
static inline void cgst_sample_unref(GstSample *sample) { gst_sample_unref(sample); }
static inline void cgst_message_unref(GstMessage *message) { gst_message_unref(message); }

static inline gint64 cgst_running_time(const GstSegment *segment, GstClockTime position, gboolean *valid) {
    guint64 value = 0;
    int sign = 0;
    if (segment && segment->format == GST_FORMAT_TIME && GST_CLOCK_TIME_IS_VALID(position)) {
        sign = gst_segment_to_running_time_full(segment, GST_FORMAT_TIME, position, &value);
    }
    *valid = sign != 0;
    return sign < 0 ? -(gint64)value : (gint64)value;
}

/// Answers a query about the pad at the end of a chain of elements: any caps are taken, and pictures may have rows with
/// padding, so that a decoder need not copy them.
static inline gboolean cgst_exit_query(GstPad *pad, GstObject *parent, GstQuery *query) {
    switch (GST_QUERY_TYPE(query)) {
    case GST_QUERY_ALLOCATION:
        gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL);
        return TRUE;
    case GST_QUERY_CAPS:
    case GST_QUERY_ACCEPT_CAPS:
        return gst_pad_query_default(pad, parent, query);
    default:
        return FALSE;
    }
}

/// The sample of a buffer that has arrived at a pad; the buffer stays the caller's.
static inline GstSample *cgst_pad_sample(GstPad *pad, GstBuffer *buffer) {
    GstCaps *caps = gst_pad_get_current_caps(pad);
    GstEvent *event = gst_pad_get_sticky_event(pad, GST_EVENT_SEGMENT, 0);
    const GstSegment *segment = NULL;
    if (event) {
        gst_event_parse_segment(event, &segment);
    }
    GstSample *sample = gst_sample_new(buffer, caps, segment, NULL);
    if (event) {
        gst_event_unref(event);
    }
    if (caps) {
        gst_caps_unref(caps);
    }
    return sample;
}

static inline gpointer cgst_chain_data(GstPad *pad) { return pad->chaindata; }
static inline void cgst_event_unref(GstEvent *event) { gst_event_unref(event); }

/// Pushes what precedes the first buffer of a stream. Takes over `caps`.
static inline void cgst_begin_stream(GstPad *pad, GstCaps *caps) {
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_pad_push_event(pad, gst_event_new_stream_start("direct"));
    gst_pad_push_event(pad, gst_event_new_caps(caps));
    gst_pad_push_event(pad, gst_event_new_segment(&segment));
    gst_caps_unref(caps);
}

static inline GstClockTime cgst_no_time(void) { return GST_CLOCK_TIME_NONE; }

/// The first buffer in the field `name` of the first structure of `caps`; borrowed.
static inline GstBuffer *cgst_caps_buffer(GstCaps *caps, const char *name) {
    if (!caps || gst_caps_get_size(caps) == 0) {
        return NULL;
    }
    const GValue *value = gst_structure_get_value(gst_caps_get_structure(caps, 0), name);
    if (value && GST_VALUE_HOLDS_ARRAY(value) && gst_value_array_get_size(value) > 0) {
        value = gst_value_array_get_value(value, 0);
    }
    return value && GST_VALUE_HOLDS_BUFFER(value) ? gst_value_get_buffer(value) : NULL;
}

static inline gboolean cgst_has_property(gpointer object, const char *name) {
    return g_object_class_find_property(G_OBJECT_GET_CLASS(object), name) != NULL;
}

/// The property as text, newly allocated; NULL if it has no text form.
static inline char *cgst_property_text(gpointer object, const char *name) {
    GParamSpec *spec = g_object_class_find_property(G_OBJECT_GET_CLASS(object), name);
    if (!spec || !(spec->flags & G_PARAM_READABLE)) {
        return NULL;
    }
    GValue value = G_VALUE_INIT;
    g_value_init(&value, spec->value_type);
    g_object_get_property(G_OBJECT(object), name, &value);
    char *text = G_VALUE_HOLDS_STRING(&value) ? g_value_dup_string(&value) : gst_value_serialize(&value);
    g_value_unset(&value);
    return text;
}

/// An unsigned field of a property that holds a structure.
static inline gboolean cgst_statistic(gpointer object, const char *property, const char *field, guint64 *result) {
    GstStructure *structure = NULL;
    gboolean found = FALSE;
    guint narrow = 0;
    g_object_get(object, property, &structure, NULL);
    if (!structure) {
        return FALSE;
    }
    if (gst_structure_get_uint64(structure, field, result)) {
        found = TRUE;
    } else if (gst_structure_get_uint(structure, field, &narrow)) {
        *result = narrow;
        found = TRUE;
    }
    gst_structure_free(structure);
    return found;
}

static inline GstBufferPool *cgst_video_pool(GstVideoInfo *info, guint most, guint align) {
    GstBufferPool *pool = gst_video_buffer_pool_new();
    GstStructure *config = gst_buffer_pool_get_config(pool);
    GstCaps *caps = gst_video_info_to_caps(info);
    GstAllocationParams params;
    gst_allocation_params_init(&params);
    params.align = align;
    gst_buffer_pool_config_set_params(config, caps, (guint)GST_VIDEO_INFO_SIZE(info), 0, most);
    gst_buffer_pool_config_set_allocator(config, NULL, &params);
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
    gst_caps_unref(caps);
    if (!gst_buffer_pool_set_config(pool, config) || !gst_buffer_pool_set_active(pool, TRUE)) {
        gst_object_unref(pool);
        return NULL;
    }
    return pool;
}

static inline GstBuffer *cgst_pool_acquire(GstBufferPool *pool) {
    GstBuffer *buffer = NULL;
    GstBufferPoolAcquireParams params = {.flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT};
    return gst_buffer_pool_acquire_buffer(pool, &buffer, &params) == GST_FLOW_OK ? buffer : NULL;
}

static inline guint cgst_frame_planes(GstVideoFrame *frame) { return GST_VIDEO_FRAME_N_PLANES(frame); }
static inline guint8 *cgst_frame_data(GstVideoFrame *frame, guint plane) {
    return (guint8 *)GST_VIDEO_FRAME_PLANE_DATA(frame, plane);
}
static inline int cgst_frame_stride(GstVideoFrame *frame, guint plane) {
    return GST_VIDEO_FRAME_PLANE_STRIDE(frame, plane);
}
/// Bytes of a row of the component that starts plane `plane`, without padding. For planar layouts.
static inline int cgst_frame_row_bytes(GstVideoFrame *frame, guint plane) {
    return GST_VIDEO_FRAME_COMP_WIDTH(frame, plane) * GST_VIDEO_FRAME_COMP_PSTRIDE(frame, plane);
}
static inline int cgst_frame_rows(GstVideoFrame *frame, guint plane) {
    return GST_VIDEO_FRAME_COMP_HEIGHT(frame, plane);
}

/// Whether an RTSP request is for one of the hosts, which are lines of text. The bytes of a URI end with a zero.
static inline gboolean cgst_is_request_for(const char *uri, const char *hosts) {
    const char *host = uri ? strstr(uri, "://") : NULL;
    // A request without a host (`*`) goes where the connection goes.
    if (!host) return TRUE;
    host += 3;
    size_t length = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/?#");
    for (const char *line = hosts; *line;) {
        size_t size = strcspn(line, "\n");
        if (size == length && g_ascii_strncasecmp(line, host, size) == 0) return TRUE;
        line += size;
        if (*line) line++;
    }
    return FALSE;
}

/// Handler of `rtspsrc`'s `before-send`: refuses requests for other hosts by returning false.
static inline gboolean cgst_judge_request(GstElement *element, GstRTSPMessage *message, gpointer hosts) {
    if (message->type != GST_RTSP_MESSAGE_REQUEST) return TRUE;
    if (cgst_is_request_for(message->type_data.request.uri, (const char *)hosts)) return TRUE;
    GST_ELEMENT_ERROR(
        element, RESOURCE, NOT_AUTHORIZED, ("the server redirects to another host: pull from there instead"), (NULL));
    return FALSE;
}

static inline void cgst_free_hosts(gpointer hosts, GClosure *closure) { g_free(hosts); }

/// Makes an `rtspsrc` send requests to these hosts only.
static inline void cgst_restrict_requests(GstElement *element, const char *hosts) {
    g_signal_connect_data(
        element, "before-send", G_CALLBACK(cgst_judge_request), g_strdup(hosts), cgst_free_hosts, (GConnectFlags)0);
}

typedef struct {
    int x, y, width, height;
} CGstRectangle;

/// Takes `source` of a picture, scales it and puts it into `destination` of another.
static inline GstVideoConverter *cgst_converter(
    GstVideoInfo *in, GstVideoInfo *out, CGstRectangle source, CGstRectangle destination, int method, guint taps,
    guint threads, gboolean convert_colour) {
    GstStructure *config = gst_structure_new(
        "GstVideoConverter",                                                         //
        GST_VIDEO_CONVERTER_OPT_SRC_X, G_TYPE_INT, source.x,                         //
        GST_VIDEO_CONVERTER_OPT_SRC_Y, G_TYPE_INT, source.y,                         //
        GST_VIDEO_CONVERTER_OPT_SRC_WIDTH, G_TYPE_INT, source.width,                 //
        GST_VIDEO_CONVERTER_OPT_SRC_HEIGHT, G_TYPE_INT, source.height,               //
        GST_VIDEO_CONVERTER_OPT_DEST_X, G_TYPE_INT, destination.x,                   //
        GST_VIDEO_CONVERTER_OPT_DEST_Y, G_TYPE_INT, destination.y,                   //
        GST_VIDEO_CONVERTER_OPT_DEST_WIDTH, G_TYPE_INT, destination.width,           //
        GST_VIDEO_CONVERTER_OPT_DEST_HEIGHT, G_TYPE_INT, destination.height,         //
        GST_VIDEO_CONVERTER_OPT_FILL_BORDER, G_TYPE_BOOLEAN, FALSE,                  //
        GST_VIDEO_CONVERTER_OPT_RESAMPLER_METHOD, GST_TYPE_VIDEO_RESAMPLER_METHOD, method, //
        GST_VIDEO_CONVERTER_OPT_RESAMPLER_TAPS, G_TYPE_UINT, taps,                   //
        GST_VIDEO_CONVERTER_OPT_THREADS, G_TYPE_UINT, threads,                       //
        GST_VIDEO_CONVERTER_OPT_DITHER_METHOD, GST_TYPE_VIDEO_DITHER_METHOD, GST_VIDEO_DITHER_NONE, //
        GST_VIDEO_CONVERTER_OPT_MATRIX_MODE, GST_TYPE_VIDEO_MATRIX_MODE,
        convert_colour ? GST_VIDEO_MATRIX_MODE_FULL : GST_VIDEO_MATRIX_MODE_NONE,    //
        GST_VIDEO_CONVERTER_OPT_PRIMARIES_MODE, GST_TYPE_VIDEO_PRIMARIES_MODE, GST_VIDEO_PRIMARIES_MODE_NONE,
        NULL);
    return gst_video_converter_new(in, out, config);
}

#endif
