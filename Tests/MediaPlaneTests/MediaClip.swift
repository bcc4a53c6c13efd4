import Foundation
import Testing

/// A file with numbered pictures (`TestMark`) and a tone, made by ffmpeg.
struct MediaClip {
    var width = 360
    var height = 640
    var fps = 20
    var frames = 30
    /// Luma of everything but the mark.
    var luma = 90
    var codecs = ["-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac"]
    var hasSound = true
    var hasPictures = true

    /// Writes the clip.
    func write(to file: URL) throws {
        let seconds = Double(frames) / Double(fps)
        var arguments = ["-v", "error", "-y", "-nostdin"]
        if hasPictures { arguments += ["-f", "lavfi", "-i", graph] }
        if hasSound { arguments += ["-f", "lavfi", "-i", "sine=frequency=500:sample_rate=48000:duration=\(seconds)"] }
        arguments += codecs + ["-t", "\(seconds)", file.path]
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["ffmpeg"] + arguments
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "ffmpeg could not make \(file.lastPathComponent)")
    }

    private var graph: String {
        let side = TestMark.square(width)
        var filters = [
            "color=c=gray:s=\(width)x\(height):r=\(fps)", "format=yuv420p", "lutyuv=y=\(luma):u=128:v=128",
            "drawbox=x=0:y=0:w=\(side * TestMark.bits):h=\(side):color=black:t=fill",
        ]
        for bit in 0..<TestMark.bits {
            filters.append(
                "drawbox=x=\(bit * side):y=0:w=\(side):h=\(side):color=white:t=fill:enable='bitand(n,\(1 << bit))'")
        }
        return filters.joined(separator: ",")
    }
}
