// Corners, shadows, gradients and blur on planes of 8 bits a sample. They touch only the pixels of an edge, or run once
// for a picture that stands still.
#ifndef CGSTREAMER_SHAPES_H
#define CGSTREAMER_SHAPES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/// Exact quotient by 255 of everything that two bytes can make.
static inline uint8_t cgst_over_255(unsigned value) {
    value += 128;
    return (uint8_t)((value + (value >> 8)) >> 8);
}

/// One corner of a rectangle: target = target · mask / 255 + other · (255 − mask) / 255.
///
/// The mask has `size` rows of `size` samples, for the upper left corner; `right` and `below` mirror it for the others.
/// `target` and `other` point to the upper left sample of the square. With `other_step` 0 a single sample stands for all.
static inline void cgst_corner_plane(
    uint8_t *target, int stride, const uint8_t *other, int other_stride, int other_step, const uint8_t *mask, int size,
    int right, int below) {
    for (int row = 0; row < size; row++) {
        uint8_t *to = target + (ptrdiff_t)row * stride;
        const uint8_t *from = other + (ptrdiff_t)row * other_stride;
        const uint8_t *line = mask + (ptrdiff_t)(below ? size - 1 - row : row) * size;
        for (int column = 0; column < size; column++) {
            unsigned share = line[right ? size - 1 - column : column];
            if (share == 255) continue;
            to[column] = cgst_over_255(to[column] * share + from[(ptrdiff_t)column * other_step] * (255 - share));
        }
    }
}

/// A rectangle of a plane, in samples.
typedef struct {
    int x, y, width, height;
} CGstArea;

/// Mixes `value` into `count` samples with the shares of a row, or with its first one for all if `step` is 0.
static inline void cgst_shade_row(
    uint8_t *target, int count, const uint8_t *shares, int step, uint8_t value, int weight) {
    for (int column = 0; column < count; column++) {
        unsigned share = (shares[(ptrdiff_t)column * step] * (unsigned)weight + 128) >> 8;
        target[column] = cgst_over_255(target[column] * (255 - share) + value * share);
    }
}

/// The part of a row between two columns that lies outside of a hole.
static inline void cgst_shade_span(
    uint8_t *row, int left, int right, int hole_left, int hole_right, int origin, const uint8_t *shares, int step,
    uint8_t value, int weight) {
    int first_end = right < hole_left ? right : hole_left, second = left > hole_right ? left : hole_right;
    if (left < first_end) {
        cgst_shade_row(row + left, first_end - left, shares + (ptrdiff_t)(left - origin) * step, step, value, weight);
    }
    if (second < right) {
        cgst_shade_row(row + second, right - second, shares + (ptrdiff_t)(second - origin) * step, step, value, weight);
    }
}

/// Draws a soft box around a hole.
///
/// `table` has the shares of the box's upper left corner, `corner` rows of `corner` samples. Its last row and column go on
/// along the sides. `mirrored` has the same rows from right to left. The hole is a rectangle whose corners of `cut` samples
/// do not belong to it; pixels in it stay as they are, because a pane hides them.
static inline void cgst_shade_plane(
    uint8_t *target, int stride, int plane_width, int plane_height, CGstArea box, const uint8_t *table,
    const uint8_t *mirrored, int corner, uint8_t value, int weight, CGstArea hole, int cut) {
    int top = box.y > 0 ? box.y : 0, bottom = box.y + box.height;
    if (bottom > plane_height) bottom = plane_height;
    for (int y = top; y < bottom; y++) {
        int down = y - box.y, up = box.height - 1 - down;
        int line = down < up ? down : up;
        if (line >= corner) line = corner - 1;
        const uint8_t *shares = table + (ptrdiff_t)line * corner, *back = mirrored + (ptrdiff_t)line * corner;
        int inside = y - hole.y, hole_left = INT32_MAX, hole_right = INT32_MAX;
        if (inside >= 0 && inside < hole.height) {
            int indent = inside < cut || hole.height - 1 - inside < cut ? cut : 0;
            hole_left = hole.x + indent;
            hole_right = hole.x + hole.width - indent;
            if (hole_left >= hole_right) hole_left = hole_right = INT32_MAX;
        }
        uint8_t *row = target + (ptrdiff_t)y * stride;
        int ends[4] = {box.x, box.x + corner, box.x + box.width - corner, box.x + box.width};
        for (int part = 0; part < 3; part++) {
            int left = ends[part] > 0 ? ends[part] : 0;
            int right = ends[part + 1] < plane_width ? ends[part + 1] : plane_width;
            if (left >= right) continue;
            const uint8_t *from = part == 0 ? shares : part == 1 ? shares + corner - 1 : back;
            cgst_shade_span(row, left, right, hole_left, hole_right, ends[part], from, part == 1 ? 0 : 1, value, weight);
        }
    }
}

/// Fills a plane with a gradient: from `start` at (x0, y0) to `end` at (x1, y1), in samples. Ordered dither keeps slow
/// gradients free of bands.
static inline void cgst_gradient_plane(
    uint8_t *target, int stride, int width, int height, double x0, double y0, double x1, double y1, double start,
    double end) {
    static const uint8_t bayer[8][8] = {
        {0, 32, 8, 40, 2, 34, 10, 42}, {48, 16, 56, 24, 50, 18, 58, 26}, {12, 44, 4, 36, 14, 46, 6, 38},
        {60, 28, 52, 20, 62, 30, 54, 22}, {3, 35, 11, 43, 1, 33, 9, 41}, {51, 19, 59, 27, 49, 17, 57, 25},
        {15, 47, 7, 39, 13, 45, 5, 37}, {63, 31, 55, 23, 61, 29, 53, 21}};
    double dx = x1 - x0, dy = y1 - y0, length = dx * dx + dy * dy;
    if (length <= 0) length = 1;
    for (int row = 0; row < height; row++) {
        uint8_t *to = target + (ptrdiff_t)row * stride;
        for (int column = 0; column < width; column++) {
            double share = ((column + 0.5 - x0) * dx + (row + 0.5 - y0) * dy) / length;
            share = share < 0 ? 0 : share > 1 ? 1 : share;
            double value = start + (end - start) * share + (bayer[row & 7][column & 7] + 0.5) / 64;
            to[column] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
        }
    }
}

/// Blurs a line of `count` samples that are `step` bytes apart with a box of 2 · radius + 1, edges repeated.
/// `line` has room for `count` bytes.
static inline void cgst_blur_line(uint8_t *samples, ptrdiff_t step, int count, int radius, uint8_t *line) {
    if (radius < 1 || count < 2) return;
    for (int index = 0; index < count; index++) line[index] = samples[index * step];
    uint32_t sum = 0, size = (uint32_t)radius * 2 + 1;
    for (int index = -radius; index <= radius; index++) {
        sum += line[index < 0 ? 0 : index >= count ? count - 1 : index];
    }
    for (int index = 0; index < count; index++) {
        samples[index * step] = (uint8_t)((sum + size / 2) / size);
        int leaving = index - radius, coming = index + radius + 1;
        sum += line[coming >= count ? count - 1 : coming];
        sum -= line[leaving < 0 ? 0 : leaving];
    }
}

/// Blurs a plane: three boxes one after another come close to a Gaussian. `line` has room for the longer side.
static inline void cgst_blur_plane(uint8_t *plane, int stride, int width, int height, int radius, uint8_t *line) {
    for (int pass = 0; pass < 3; pass++) {
        for (int row = 0; row < height; row++) cgst_blur_line(plane + (ptrdiff_t)row * stride, 1, width, radius, line);
        for (int column = 0; column < width; column++) cgst_blur_line(plane + column, stride, height, radius, line);
    }
}

#endif
