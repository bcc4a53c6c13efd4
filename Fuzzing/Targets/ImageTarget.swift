import MediaFormats

/// The beginning of files that layouts show as images.
enum ImageTarget: FuzzTarget {
    static let name = "images"

    static var seeds: [[UInt8]] {
        let png: [UInt8] =
            [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]
            + [0, 0, 0, 8, 0, 0, 0, 8, 8, 6, 0, 0, 0, 0, 0, 0, 0]
        let jpeg: [UInt8] =
            [0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 0, 0, 0xFF, 0xC0, 0, 17, 8, 0, 8, 0, 8, 3]
            + [1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0, 0xFF, 0xD9]
        let webp =
            Array("RIFF".utf8) + [22, 0, 0, 0] + Array("WEBPVP8X".utf8) + [10, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 7, 0, 0]
        return [png, jpeg, webp]
    }

    static func run(_ bytes: [UInt8]) {
        guard let header = try? ImageHeader(bytes) else { return }
        let pixels = header.width.multipliedReportingOverflow(by: header.height)
        require(header.width > 0 && header.height > 0, "\(header.width) × \(header.height)")
        require(!pixels.overflow && pixels.partialValue <= ImageHeader.mostPixels, "\(header.width) × \(header.height)")
    }
}
