/// Decodes the pictures of a recording with `ffmpeg`, as a viewer would: across changes of configuration and size.
///
/// Blocking.
enum PictureDecoder {
    /// - Parameters:
    ///   - receive: Receives each picture with its presentation time in ms, in the order of presentation.
    /// - Returns: The decoder's errors, as printed by `ffmpeg -v error`.
    static func decode(_ path: String, receive: (Int64, Picture) -> Void) throws(ProbeError) -> [String] {
        let child = try ChildProcess(
            "ffmpeg",
            [
                "-hide_banner", "-nostdin", "-nostats", "-loglevel", "level+info", "-threads", "1", "-copyts", "-i",
                path,
                "-an", "-vf", "showinfo=checksum=0", "-autoscale", "0", "-fps_mode", "passthrough", "-enc_time_base",
                "-1",
                "-f", "rawvideo",
                "pipe:1",
            ])
        var errors: [String] = []
        while let line = child.nextLine() {
            // Earlier complaints come from probing the file; a viewer's come from here on.
            if line.contains("Stream mapping:") { errors = [] }
            if let picture = PictureLine(line) {
                let bytes = child.read(Picture.byteCount(width: picture.width, height: picture.height))
                guard picture.format.hasSuffix("420p"),
                    let decoded = Picture(width: picture.width, height: picture.height, bytes: bytes)
                else { throw .tool("a picture in \(picture.format) could not be read from ffmpeg") }
                receive(picture.milliseconds, decoded)
            } else if let message = errorMessage(line) {
                errors.append(message)
            }
        }
        let exit = child.waitForExit()
        if exit != .status(0) { errors.append("ffmpeg ended with \(exit)") }
        return errors
    }

    /// Returns the line if it reports an error of a decoder.
    /// A parser, which has no name, knows only the first parameter sets of a recording. In a recording that begins with
    /// a mix it complains about every picture of a bypass, although the decoder shows it.
    static func errorMessage(_ line: String) -> String? {
        guard !line.hasPrefix("[NULL @") else { return nil }
        return ["[error]", "[fatal]", "[panic]"].contains { line.contains($0) } ? line : nil
    }

    /// The output of `showinfo` for one picture.
    struct PictureLine: Hashable {
        var milliseconds: Int64
        var format: String
        var width: Int
        var height: Int

        init?(_ line: String) {
            guard line.contains("showinfo"), line.contains(" n:"),
                let time = PictureLine.value(of: "pts_time:", in: line).flatMap(Double.init),
                let format = PictureLine.value(of: " fmt:", in: line),
                let size = PictureLine.value(of: " s:", in: line)?.split(separator: "x").compactMap({ Int($0) }),
                size.count == 2, size.allSatisfy({ 1...16384 ~= $0 })
            else { return nil }
            milliseconds = Int64(saturating: (time * 1000).rounded())
            self.format = format
            width = size[0]
            height = size[1]
        }

        private static func value(of key: String, in line: String) -> String? {
            guard let range = line.firstRange(of: key) else { return nil }
            return String(line[range.upperBound...].drop { $0 == " " }.prefix { $0 != " " })
        }
    }
}
