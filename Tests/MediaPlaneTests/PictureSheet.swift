import GStreamerKit
import Testing

@testable import ProgramMixer

/// Frames of one size beside and below each other.
struct PictureSheet {
    let picture: VideoFrame
    /// Position of each frame.
    let tiles: [VideoRect]

    private static let gap = 8

    static func tile(_ frames: [VideoFrame], columns: Int) throws -> PictureSheet {
        let first = try #require(frames.first)
        let rows = (frames.count + columns - 1) / columns
        var format = first.format
        format.width = columns * (first.width + gap) + gap
        format.height = rows * (first.height + gap) + gap
        let sheet = try #require(try CanvasPool(format: format).acquire())
        sheet.fill(y: 200, u: 128, v: 128)
        let tiles = frames.indices.map { index in
            VideoRect(
                x: gap + index % columns * (first.width + gap), y: gap + index / columns * (first.height + gap),
                width: first.width, height: first.height)
        }
        for (frame, tile) in zip(frames, tiles) {
            let copier = try VideoConverter(from: first.format, to: format, destinationRect: tile)
            #expect(copier.draw(frame, onto: sheet))
        }
        return PictureSheet(picture: sheet, tiles: tiles)
    }
}

/// Colours of a picture in the form of a PNG file, for comparison with another picture.
struct Pixels {
    let width: Int
    let height: Int
    /// Blue, green, red, alpha.
    private var bytes: [UInt8]

    /// The difference between two pictures. Letters may differ slightly between versions of the font library.
    struct Difference: CustomStringConvertible {
        /// Mean of all channels, 0…255.
        var mean: Double
        /// Share of the pixels with a channel that differs by more than 24.
        var share: Double

        var isSmall: Bool { mean <= 0.4 && share <= 0.002 }

        var description: String {
            let percent = (share * 100_000).rounded() / 1000
            return
                "mean \((mean * 1000).rounded() / 1000) of 255 (at most 0.4), \(percent) % of the pixels (at most 0.2 %)"
        }
    }

    /// - Parameter frame: BGRA.
    init(_ frame: VideoFrame) {
        width = frame.width
        height = frame.height
        bytes = frame.plane(0)
    }

    /// Creates the pixels as if read from a file.
    init(_ sheet: PictureSheet) async throws {
        let (width, height) = (sheet.picture.width, sheet.picture.height)
        self.init(try await ImageDecoder.image(try await sheet.picture.png(), as: .png, width: width, height: height))
    }

    /// - Parameter rect: Compared part; `nil` for all. The pictures have the same size.
    func difference(from other: Pixels, in rect: VideoRect? = nil) -> Difference {
        let rect = rect ?? VideoRect(x: 0, y: 0, width: width, height: height)
        var (sum, far) = (0, 0)
        bytes.withUnsafeBufferPointer { left in
            other.bytes.withUnsafeBufferPointer { right in
                var row = rect.y
                while row < rect.y + rect.height {
                    var index = (row * width + rect.x) * 4
                    let end = index + rect.width * 4
                    while index < end {
                        let blue = abs(Int(left[index]) - Int(right[index]))
                        let green = abs(Int(left[index + 1]) - Int(right[index + 1]))
                        let red = abs(Int(left[index + 2]) - Int(right[index + 2]))
                        sum += blue + green + red
                        if blue > 24 || green > 24 || red > 24 { far += 1 }
                        index += 4
                    }
                    row += 1
                }
            }
        }
        let pixels = Double(rect.width * rect.height)
        return Difference(mean: Double(sum) / pixels / 3, share: Double(far) / pixels)
    }

    /// Returns blocks of 8×8 pixels, the brighter the larger their largest difference is. The pictures have the same
    /// size.
    func marked(against other: Pixels) throws -> VideoFrame {
        let size = 8
        let frame = try #require(try CanvasPool(format: VideoFormat(width: width, height: height)).acquire())
        frame.fill(y: 16, u: 128, v: 128)
        for y in stride(from: 0, to: height, by: size) {
            for x in stride(from: 0, to: width, by: size) {
                var most = 0
                for row in y..<min(y + size, height) {
                    for index in (row * width + x) * 4..<(row * width + min(x + size, width)) * 4 {
                        most = max(most, abs(Int(bytes[index]) - Int(other.bytes[index])))
                    }
                }
                guard most > 4 else { continue }
                let luma = UInt8(min(235, 60 + most))
                frame.fill(VideoRect(x: x, y: y, width: size, height: size), y: luma, u: 128, v: most > 24 ? 200 : 128)
            }
        }
        return frame
    }
}
