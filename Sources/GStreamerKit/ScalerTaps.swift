import CGStreamer

/// Source pixels that a scaler reads per output pixel.
///
/// GStreamer 1.22 rounds the weights of these pixels to 1/64 and does not correct them if they then do not add up to
/// one: at certain ratios (5:1, 3.7:1, 8:1, 2.4:1 …) plain colours become up to 4 % brighter, twice that when both
/// directions are scaled. A few pixels more or fewer make the sum right.
enum ScalerTaps {
    /// Returns the number of pixels for `VideoConverter.Quality.linear`, for both directions. 0 means the scaler's own
    /// choice, which is exact or cannot be corrected.
    static func linear(from: VideoRect, to: VideoRect) -> Int {
        // Chroma has half the size, and its weights have other positions.
        let directions = [(from.width, to.width), (from.height, to.height)].flatMap { from, to in
            [(from, to), ((from + 1) / 2, (to + 1) / 2)]
        }
        func isExact(_ taps: Int) -> Bool {
            directions.allSatisfy { from, to in
                cgst_scales_exactly(GST_VIDEO_RESAMPLER_METHOD_LINEAR, guint(taps), guint(from), guint(to)) != 0
            }
        }
        guard !isExact(0) else { return 0 }
        let own = directions.filter { $0.0 != $0.1 }.map { from, to in max(2, (from * 2 + to - 1) / to) }
        // If the directions differ much, one number for both would blur one of them.
        guard let least = own.min(), let most = own.max(), most - least <= max(1, most / 8) else { return 0 }
        let nearest = (0...max(3, most / 4)).flatMap { [most + $0, most - $0] }
        return nearest.first { $0 > 2 && isExact($0) } ?? 0
    }
}
