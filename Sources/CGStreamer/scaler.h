// How exactly GStreamer scales: what of its video scaler has no API.
#ifndef CGSTREAMER_SCALER_H
#define CGSTREAMER_SCALER_H

#include <gst/video/video.h>
#include <math.h>

/// Whether the weights of a scaler for 8-bit samples add up to one at every place, as GStreamer 1.22 rounds them: to 1/64,
/// with one bias for all weights of a place (`resampler_convert_coeff` in video-scaler.c). Where no bias makes their
/// sum right it takes the nearest, and everything there becomes brighter or darker.
static inline gboolean cgst_scales_exactly(GstVideoResamplerMethod method, guint taps, guint from, guint to) {
    GstVideoResampler resampler;
    if (from == to) {
        return TRUE;
    }
    if (!gst_video_resampler_init(
            &resampler, method, GST_VIDEO_RESAMPLER_FLAG_NONE, to, taps, 0.0, from, to, NULL)) {
        return FALSE;
    }
    const int one = 1 << 6;
    gboolean all = TRUE;
    // With two weights the scaler interpolates instead.
    for (guint place = 0; all && resampler.max_taps > 2 && place < to; place++) {
        const gdouble *weights = resampler.taps + (gsize)resampler.phase[place] * resampler.max_taps;
        double low = 0, high = 1, bias = 0.5;
        gboolean exact = FALSE;
        for (int round = 0; round < 64 && !exact; round++) {
            int sum = 0;
            for (guint i = 0; i < resampler.max_taps; i++) {
                sum += (int)floor(bias + weights[i] * one);
            }
            exact = sum == one;
            if (low == high) {
                break;
            }
            if (sum < one) {
                if (bias > low) {
                    low = bias;
                }
                bias += (high - low) / 2;
            } else if (sum > one) {
                if (bias < high) {
                    high = bias;
                }
                bias -= (high - low) / 2;
            }
        }
        all = exact;
    }
    gst_video_resampler_clear(&resampler);
    return all;
}

#endif
