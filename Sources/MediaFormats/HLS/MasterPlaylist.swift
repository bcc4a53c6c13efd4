/// The playlist that names the variants of a program (RFC 8216 §4.3.4).
public enum MasterPlaylist {
    /// Returns the playlist of variants in the given order, best first. Variants of unknown bit rate are omitted.
    public static func text(_ variants: [PlaylistVariant]) -> String {
        var text = "#EXTM3U\n#EXT-X-VERSION:6\n"
        if variants.allSatisfy(\.live.isIndependent) { text += "#EXT-X-INDEPENDENT-SEGMENTS\n" }
        for variant in variants {
            let average = variant.averageBandwidth
            guard average > 0 else { continue }
            let format = variant.format
            let peak = step(max(variant.peakBandwidth, average))
            var line = "#EXT-X-STREAM-INF:BANDWIDTH=\(peak),AVERAGE-BANDWIDTH=\(min(step(average), peak))"
            let codecs = [format.videoCodec, format.audioCodec].compactMap(\.self)
            if !codecs.isEmpty { line += ",CODECS=\"\(codecs.joined(separator: ","))\"" }
            if format.width > 0, format.height > 0 { line += ",RESOLUTION=\(format.width)x\(format.height)" }
            if format.frameRate > 0 { line += ",FRAME-RATE=\(thousandths(format.frameRate))" }
            text += "\(line)\n\(variant.playlistName)\n"
        }
        return text
    }

    /// Rounds a bit rate up to two digits, so that the playlist does not change with every segment.
    public static func step(_ rate: Int) -> Int {
        var unit = 1
        while rate / unit >= 100 { unit *= 10 }
        return (rate + unit - 1) / unit * unit
    }

    private static func thousandths(_ value: Int) -> String {
        let fraction = String(value % 1000)
        return "\(value / 1000).\(String(repeating: "0", count: 3 - fraction.count))\(fraction)"
    }
}
