/// Makes pictures of SVG text and of the bytes of image files.
///
/// Every call runs a small pipeline of its own, some milliseconds long, and tears it down; none blocks Swift's
/// cooperative threads. Cancellation ends a call early.
///
/// Results are in BGRA with straight (not premultiplied) alpha and the full range of sRGB. `AlphaPicture` brings one to
/// the colours of a canvas, once, with its transparency; what has none may as well be drawn onto an I420 picture by a
/// `VideoConverter`.
public enum ImageDecoder {
    /// How the bytes of an image are compressed.
    public enum Codec: String, Hashable, Sendable, CaseIterable {
        case png, jpeg, webp
    }

    /// How a stored picture has to be turned to be upright; the raw values are those of Exif's tag 0x0112.
    public enum Orientation: Int, Hashable, Sendable, CaseIterable {
        case upright = 1
        case mirrored, upsideDown, flipped, transposed, quarterLeft, transversed, quarterRight
    }

    /// The most pixels a side of an SVG picture has; a larger one is refused.
    public static let mostSide = 7680

    static let limit = Duration.seconds(10)

    /// Rasterises SVG at its own size. Files and addresses that it names are not read; `data:` URIs are.
    ///
    /// - Throws: `.syntax` for what librsvg cannot read and for larger pictures, `.missingElement` without `rsvgdec`,
    ///   `.resource` when it takes more than 10 s.
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
                .syntax, "no SVG that ends in </svg> and has 1 to \(mostSide) pixels a side (\(error.message))")
        }
    }

    /// Decodes an image whose codec and size its header told.
    ///
    /// - Parameters:
    ///   - width: As in the header: a file that decodes to another size is refused before memory is taken for it.
    ///   - orientation: How it is stored; the result is upright.
    /// - Throws: `.syntax` for damaged bytes, `.missingElement`, `.resource` when it takes more than 10 s.
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
                .syntax, "damaged, or not the \(width)×\(height) pixels that its header says (\(error.message))")
        }
    }
}

extension ImageDecoder.Orientation {
    /// The word of `videoflip` that turns the picture upright.
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
