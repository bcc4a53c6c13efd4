/// The picture on which a mix is composed.
public struct Canvas: Hashable, Codable, Sendable {
    /// Width in pixels, even (I420 has one chroma sample for two luma samples), 16…7680.
    public var width: Int
    /// Height in pixels, even, 16…7680.
    public var height: Int
    /// Frames per second, 1…60.
    public var fps: Int
    /// Colour shown where there is no pane.
    public var background: RGB

    public init(width: Int, height: Int, fps: Int, background: RGB = .black) {
        self.width = width
        self.height = height
        self.fps = fps
        self.background = background
    }

    /// The default canvas of the service: 720×1280 pixels at 20 frames per second, on black.
    public static let portrait = Canvas(width: 720, height: 1280, fps: 20)
}

/// An opaque colour with 8 bits per channel in the sRGB transfer, written `#RRGGBB` in JSON.
public struct RGB: Hashable, Sendable {
    public var red: UInt8
    public var green: UInt8
    public var blue: UInt8

    public init(red: UInt8, green: UInt8, blue: UInt8) {
        self.red = red
        self.green = green
        self.blue = blue
    }

    public static let black = RGB(red: 0, green: 0, blue: 0)
    public static let white = RGB(red: 255, green: 255, blue: 255)
}

extension RGB: Codable, CustomStringConvertible {
    /// Creates a colour from `#` and six hexadecimal digits; `nil` for any other text.
    public init?(hex text: String) {
        // The conversion alone would accept a sign as a digit.
        guard text.utf8.count == 7, text.hasPrefix("#"), text.dropFirst().allSatisfy(\.isHexDigit),
            let value = UInt32(text.dropFirst(), radix: 16)
        else { return nil }
        self.init(
            red: UInt8(value >> 16 & 0xFF), green: UInt8(value >> 8 & 0xFF), blue: UInt8(value & 0xFF))
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let colour = RGB(hex: text) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "expected a colour like \"#1A2B3C\", found \"\(text)\"")
        }
        self = colour
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }

    public var description: String {
        let digits = [red, green, blue].map { channel in
            (channel < 16 ? "0" : "") + String(channel, radix: 16, uppercase: true)
        }
        return "#" + digits.joined()
    }
}
