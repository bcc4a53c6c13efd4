import Dispatch
import Foundation
import GStreamerKit
import MixModel

extension ImageDecoder {
    /// Decodes a PNG, JPEG or WebP file; what it is tells its content, not its name.
    ///
    /// - Parameter most: Pixels that the picture may have; checked before anything is decoded.
    /// - Returns: An upright picture in BGRA with straight (not premultiplied) alpha, in the full range of sRGB.
    /// - Throws: `.notFound` when the file cannot be read, `.syntax` for what is no such image, damaged or larger,
    ///   `.resource` when it takes more than 10 s.
    public static func image(
        file: String, most: Int = ImageHeader.mostPixels
    ) async throws(GStreamerError) -> VideoFrame {
        let bytes = try await read(file)
        let header: ImageHeader
        do {
            header = try ImageHeader(bytes, mostPixels: most)
        } catch {
            throw GStreamerError(.syntax, "\(file): \(error)")
        }
        do {
            return try await image(
                bytes, as: header.kind.codec, width: header.width, height: header.height,
                orientation: Orientation(rawValue: header.orientation) ?? .upright)
        } catch {
            throw GStreamerError(error.code, "\(file): \(error.message)")
        }
    }

    /// Reads no more than an image may have, and not on a thread of Swift's pool: a disk can be slow.
    private static func read(_ file: String) async throws(GStreamerError) -> [UInt8] {
        let result: Result<[UInt8], GStreamerError> = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(returning: Result { () throws(GStreamerError) in try contents(of: file) })
            }
        }
        return try result.get()
    }

    private static func contents(of file: String) throws(GStreamerError) -> [UInt8] {
        guard let handle = FileHandle(forReadingAtPath: file),
            let data = try? handle.read(upToCount: ImageHeader.mostBytes + 1)
        else { throw GStreamerError(.notFound, "\(file): cannot be read") }
        guard data.count <= ImageHeader.mostBytes else {
            throw GStreamerError(.syntax, "\(file): more than \(ImageHeader.mostBytes / 1_000_000) MB")
        }
        return Array(data)
    }
}

extension ImageHeader.Kind {
    fileprivate var codec: ImageDecoder.Codec {
        switch self {
        case .png: .png
        case .jpeg: .jpeg
        case .webp: .webp
        }
    }
}
