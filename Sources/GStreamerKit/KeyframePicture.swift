import EncodedMedia
import MediaFormats

/// Turns one keyframe into a small picture.
public enum KeyframePicture {
    /// Largest number of pixels of a picture that is decoded: 8K.
    package static let mostPixels = 8192 * 4352

    /// Decodes a keyframe, scales it and encodes it as JPEG.
    ///
    /// - Parameters:
    ///   - frame: An IDR picture.
    ///   - side: Longer side of the result in pixels. A picture is never enlarged.
    ///   - limit: Time limit for the whole call.
    /// - Throws: `.syntax` if the picture cannot be decoded or is too large, `.missingElement`, `.resource` if it takes
    ///   longer.
    package static func jpeg(
        of frame: EncodedFrame, _ configuration: CodecConfiguration, side: Int, limit: Duration
    ) async throws(GStreamerError) -> [UInt8] {
        let decoding = try decoding(configuration)
        let size = size(of: (decoding.parameters.width, decoding.parameters.height), side: side)
        let elements = [
            "videoconvertscale",
            // JPEG has its own matrix and range, which the encoder applies to RGB.
            "video/x-raw,format=RGB,width=\(size.width),height=\(size.height),pixel-aspect-ratio=1/1",
            "jpegenc quality=80",
        ]
        return try await decode(frame, decoding, into: elements, name: "thumbnail", limit: limit)
    }

    /// Decodes a keyframe and measures the brightness of its parts.
    ///
    /// - Parameters:
    ///   - frame: An IDR picture.
    ///   - parts: Number of parts of a row, and of rows; a multiple of 4.
    ///   - limit: Time limit for the whole call.
    /// - Returns: The mean brightness of each part, in which its middle counts most, row by row, 0 to 255.
    /// - Throws: As `jpeg`.
    package static func brightness(
        of frame: EncodedFrame, _ configuration: CodecConfiguration, parts: Int, limit: Duration
    ) async throws(GStreamerError) -> [UInt8] {
        let decoding = try decoding(configuration)
        let elements = [
            // The whole picture fills the square, whatever its aspect ratio is. The usual method would look at four pixels
            // of each part, in which the noise of an encoder is as large as a change of the picture.
            "videoconvertscale add-borders=false method=bilinear2",
            "video/x-raw,format=GRAY8,width=\(parts),height=\(parts)",
        ]
        return try await decode(frame, decoding, into: elements, name: "brightness", limit: limit)
    }

    /// Decodes a keyframe and returns what the elements behind the decoder make of it.
    private static func decode(
        _ frame: EncodedFrame, _ decoding: VideoDecoding, into elements: [String], name: String, limit: Duration
    ) async throws(GStreamerError) -> [UInt8] {
        let description =
            ["appsrc name=in format=time", decoding.element] + elements + ["appsink name=out sync=false async=false"]
        return try await OneShot.run(description.joined(separator: " ! "), name: name, limit: limit) {
            source throws(GStreamerError) in
            try source.setCaps(decoding.caps)
            source.push(bytes: frame.payload, pts: 0, dts: 0)
        } keep: {
            Array($0.bytes)
        }
    }

    /// Returns the decoder for pictures with this configuration.
    ///
    /// - Throws: `.syntax` if the configuration cannot be read or its pictures are too large.
    private static func decoding(_ configuration: CodecConfiguration) throws(GStreamerError) -> VideoDecoding {
        guard let decoding = VideoDecoding(configuration) else {
            throw GStreamerError(.syntax, "the video configuration cannot be read")
        }
        let (width, height) = (decoding.parameters.width, decoding.parameters.height)
        guard width > 0, height > 0, width <= mostPixels / height else {
            throw GStreamerError(.syntax, "its pictures of \(width)×\(height) are too large for a preview")
        }
        return decoding
    }

    /// Returns the size of a picture whose longer side has at most `side` pixels, with the same aspect ratio.
    package static func size(of picture: (width: Int, height: Int), side: Int) -> (width: Int, height: Int) {
        let longer = max(picture.width, picture.height, 1)
        guard longer > side else { return picture }
        return (max(picture.width * side / longer, 1), max(picture.height * side / longer, 1))
    }
}
