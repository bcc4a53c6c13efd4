import Dispatch
import Foundation
import MediaFormats

extension ImageDecoder {
    /// Decodes a PNG, JPEG or WebP file. The format is determined from the content, not the file name.
    ///
    /// - Parameter most: Largest number of pixels of the picture. Checked before anything is decoded.
    /// - Returns: An upright picture in BGRA with straight (not premultiplied) alpha, in the full range of sRGB.
    /// - Throws: `.notFound` if the file cannot be read, `.syntax` if it is not such an image, or is damaged or too
    ///   large, `.resource` if decoding takes more than 10 s.
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

    /// Reads at most the permitted size of an image. A disk can be slow, so this does not run on a thread of Swift's
    /// pool.
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
