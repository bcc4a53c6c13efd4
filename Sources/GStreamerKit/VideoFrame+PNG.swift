extension VideoFrame {
    /// Encodes the picture as a PNG file, with alpha if the layout has it. Afterwards the frame counts as pushed and
    /// can no longer be drawn onto.
    ///
    /// - Throws: `.syntax` for a layout that cannot be converted, `.missingElement` without `pngenc`, `.resource` if it
    ///   takes more than 10 s.
    public func png() async throws(GStreamerError) -> [UInt8] {
        let hasAlpha = ["BGRA", "RGBA", "ARGB", "ABGR", "A420", "AYUV"].contains(format.layout)
        return try await OneShot.run(
            "appsrc name=in format=time ! videoconvert ! video/x-raw,format=\(hasAlpha ? "RGBA" : "RGB") "
                + "! pngenc snapshot=true ! appsink name=out sync=false async=false",
            name: "png", limit: ImageDecoder.limit
        ) { source throws(GStreamerError) in
            try source.setCaps(self.format)
            source.push(self, pts: 0)
        } keep: {
            $0.bytes
        }
    }
}
