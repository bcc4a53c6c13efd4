/// The header of an image file, read without decoding the image.
///
/// Pure and bounded for any bytes: only data before the pixels is read, apart from counting the scans of a progressive
/// JPEG. The header may be wrong. The decoder checks it, because `width` and `height` are the only size that it may
/// deliver.
public struct ImageHeader: Hashable, Sendable {
    /// The accepted image formats. The raw value is the file extension.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        case png, jpeg, webp
    }

    public var kind: Kind
    /// Width as stored, in pixels. At least 1.
    public var width: Int
    /// Height as stored, in pixels. At least 1.
    public var height: Int
    /// Whether the file is an animated PNG, which decodes to its first picture. Animated WebP is refused.
    public var isAnimated: Bool
    /// Exif orientation, 1…8: the rotation or reflection that makes the picture upright. 1 means none.
    public var orientation: Int

    public var pixels: Int { width * height }

    /// Maximum number of pixels in an image: 16 megapixels, which take 64 MB once decoded.
    public static let mostPixels = 16_777_216
    /// Maximum size of an image file, in bytes.
    public static let mostBytes = 10_000_000
    /// Maximum width or height, in pixels. Larger pictures are of no use on a canvas, and decoders have their own
    /// limits.
    package static let mostSide = 16_384

    /// Creates a header by reading `bytes`, which should be the whole file.
    ///
    /// - Parameter mostPixels: Maximum number of pixels. Larger images are refused.
    public init(_ bytes: [UInt8], mostPixels: Int = ImageHeader.mostPixels) throws(ImageProblem) {
        guard !bytes.isEmpty else { throw .empty }
        var reader = ImageBytes(bytes)
        if reader.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = try Self.png(&reader)
        } else if reader.starts(with: [0xFF, 0xD8, 0xFF]) {
            self = try Self.jpeg(&reader)
        } else if reader.starts(with: Array("RIFF".utf8)), reader.text(at: 8, count: 4) == "WEBP" {
            self = try Self.webp(&reader)
        } else {
            throw .unknown(Self.guess(reader))
        }
        guard width <= Self.mostSide, height <= Self.mostSide, pixels <= mostPixels else {
            throw .tooLarge(width: width, height: height, mostPixels: mostPixels)
        }
    }

    package init(_ kind: Kind, width: Int, height: Int, isAnimated: Bool = false, orientation: Int = 1) {
        self.kind = kind
        self.width = width
        self.height = height
        self.isAnimated = isAnimated
        self.orientation = orientation
    }

    /// Guesses the name of another format that is often mistaken for an accepted one; returns `nil` if the bytes match
    /// none.
    private static func guess(_ reader: ImageBytes) -> String? {
        if reader.text(at: 0, count: 4) == "GIF8" { return "GIF" }
        if reader.text(at: 0, count: 2) == "BM" { return "BMP" }
        if ["II*\0", "MM\0*"].contains(reader.text(at: 0, count: 4)) { return "TIFF" }
        if reader.text(at: 4, count: 4) == "ftyp" {
            return reader.text(at: 8, count: 4)?.hasPrefix("avi") == true ? "AVIF" : "HEIC or a video"
        }
        guard let start = reader.text(at: 0, count: min(reader.count, 256)) else { return nil }
        let words = start.drop { $0.isWhitespace || $0 == "\u{FEFF}" }.lowercased()
        if words.hasPrefix("<svg") || words.hasPrefix("<?xml") { return "SVG or XML" }
        return words.hasPrefix("<!doctype") || words.hasPrefix("<html") ? "HTML" : nil
    }
}

/// A reason for refusing bytes as an image. The description is for people and says how to fix the problem.
public enum ImageProblem: Error, Hashable, Sendable, CustomStringConvertible {
    case empty
    /// The file has none of the accepted formats. Carries the name of the format that it seems to have, if known.
    case unknown(String?)
    /// The file ends before its header does.
    case truncated(ImageHeader.Kind)
    /// The header contradicts the format.
    case damaged(ImageHeader.Kind, String)
    /// The file is valid but uses a variant that is not decoded here.
    case unsupported(ImageHeader.Kind, String)
    case tooLarge(width: Int, height: Int, mostPixels: Int)

    public var description: String {
        switch self {
        case .empty: "the image is empty"
        case .unknown(let name):
            "not a PNG, JPEG or WebP image" + (name.map { " but \($0)" } ?? "") + ": convert it to one of these formats"
        case .truncated(let kind): "the \(kind.name) image is cut off: its header is not complete"
        case .damaged(let kind, let what): "the \(kind.name) image is damaged: \(what)"
        case .unsupported(let kind, let what): "\(what) is not supported: save the \(kind.name) image without it"
        case .tooLarge(let width, let height, let most):
            "the image has \(width)×\(height) pixels; the limit is \(most / 1_048_576) megapixels and "
                + "\(ImageHeader.mostSide) pixels a side: scale it down"
        }
    }
}

extension ImageHeader.Kind {
    /// Display name of the format.
    package var name: String {
        switch self {
        case .png: "PNG"
        case .jpeg: "JPEG"
        case .webp: "WebP"
        }
    }
}
