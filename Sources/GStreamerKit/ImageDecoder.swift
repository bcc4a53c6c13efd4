/// Decodes SVG text and the bytes of image files into pictures.
///
/// Every call runs its own small pipeline for a few milliseconds and tears it down. No call blocks Swift's cooperative
/// threads. Cancellation ends a call early.
///
/// Results are in BGRA with straight (not premultiplied) alpha and the full range of sRGB. `AlphaPicture` converts one
/// to the colours of a canvas once, with its transparency. A picture without transparency may also be drawn onto an
/// I420 picture by a `VideoConverter`.
public enum ImageDecoder {
    /// The compression of an image's bytes.
    public enum Codec: String, Hashable, Sendable, CaseIterable {
        case png, jpeg, webp
    }

    /// The rotation or reflection that makes a stored picture upright; the raw values are those of Exif's tag 0x0112.
    public enum Orientation: Int, Hashable, Sendable, CaseIterable {
        case upright = 1
        case mirrored, upsideDown, flipped, transposed, quarterLeft, transversed, quarterRight
    }

    /// Largest width and height of an SVG picture in pixels; a larger one is refused.
    public static let mostSide = 7680

    static let limit = Duration.seconds(10)

    /// Rasterises SVG at its own size. Does not read files and addresses that it names, but does read `data:` URIs.
    ///
    /// - Throws: `.syntax` for SVG that librsvg cannot read and for larger pictures, `.missingElement` without
    ///   `rsvgdec`, `.resource` if it takes more than 10 s.
    public static func svg(_ text: String) async throws(GStreamerError) -> VideoFrame {
        let side = "[1,\(mostSide)]"
        do {
            // The decoder un-premultiplies cairo's pixels itself.
            return try await OneShot.run(
                "appsrc name=in caps=image/svg+xml ! rsvgdec ! video/x-raw,format=BGRA,width=\(side),height=\(side) "
                    + "! appsink name=out sync=false async=false",
                name: "svg", limit: limit
            ) { source throws(GStreamerError) in
                source.push(bytes: Array(text.utf8), pts: 0)
            } keep: {
                $0.videoFrame(colorimetry: .sRGB)
            }
        } catch {
            guard error.code == .syntax else { throw error }
            throw GStreamerError(
                .syntax, "not an SVG that ends in </svg> with 1 to \(mostSide) pixels a side (\(error.message))")
        }
    }

    /// Decodes an image whose header gave its codec and size.
    ///
    /// - Parameters:
    ///   - width: Width from the header, with `height`: a file that decodes to another size is refused before memory is
    ///     allocated for it.
    ///   - orientation: Orientation in which the picture is stored; the result is upright.
    /// - Throws: `.syntax` for damaged bytes, `.missingElement`, `.resource` if it takes more than 10 s.
    public static func image(
        _ bytes: [UInt8], as codec: Codec, width: Int, height: Int, orientation: Orientation = .upright
    ) async throws(GStreamerError) -> VideoFrame {
        let (type, decoder) =
            switch codec {
            case .png: ("image/png", "pngdec")
            case .jpeg: ("image/jpeg", "jpegdec")
            case .webp: ("image/webp", "webpdec")
            }
        let turn = orientation == .upright ? "" : "! videoflip video-direction=\(orientation.direction) "
        do {
            return try await OneShot.run(
                "appsrc name=in caps=\(type) ! \(decoder) ! video/x-raw,width=\(width),height=\(height) ! videoconvert "
                    + "! video/x-raw,format=BGRA \(turn)! appsink name=out sync=false async=false",
                name: codec.rawValue, limit: limit
            ) { source throws(GStreamerError) in
                source.push(bytes: bytes, pts: 0)
            } keep: {
                $0.videoFrame(colorimetry: .sRGB)
            }
        } catch {
            guard error.code == .syntax else { throw error }
            throw GStreamerError(
                .syntax, "damaged, or not the \(width)×\(height) pixels that its header states (\(error.message))")
        }
    }
}

extension ImageDecoder.Orientation {
    /// The value of `videoflip`'s `video-direction` that turns the picture upright.
    fileprivate var direction: String {
        switch self {
        case .upright: "identity"
        case .mirrored: "horiz"
        case .upsideDown: "180"
        case .flipped: "vert"
        case .transposed: "ul-lr"
        case .quarterLeft: "90r"
        case .transversed: "ur-ll"
        case .quarterRight: "90l"
        }
    }
}
