import EncodedMedia
import Foundation
import RTMP

extension PullProgram {
    /// Reads the session description at the URL.
    ///
    /// - Returns: The head of the pipeline that receives the described streams.
    func described(
        _ head: PullHead, _ address: PullAddress, _ latency: MediaTime
    ) async throws(PullEnd) -> PullHead {
        let bytes: [UInt8]
        if let file = head.file {
            let descriptor = try open(file)
            defer { close(descriptor) }
            let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
            let data = try? handle.read(upToCount: SessionDescription.longest + 1)
            bytes = data.map { Array($0) } ?? []
        } else {
            let limits = settings.reach.map { Destination.Limits(reach: $0, setting: "sources.allow") }
            bytes = try await HTTPExchange.get(
                address.text, limits: limits, limit: SessionDescription.longest, "the session description", redaction
            ).response.body
        }
        return try SDPPull.head(of: SessionDescription(bytes), limits: settings.reach, latency: latency)
    }
}
