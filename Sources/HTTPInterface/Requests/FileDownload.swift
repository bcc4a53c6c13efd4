import HTTPTypes
import Hummingbird
import NIOCore
import RoomService

/// The answer with a recorded file or its picture, or with the part of it that the request names.
///
/// The file is open before the answer begins: one that is removed meanwhile is sent to its end.
struct FileDownload: Sendable {
    var file: OpenFile
    /// Name under which the file is saved.
    var name: String
    /// Media type.
    var type = FileDownload.video

    static let video = "video/mp4"
    static let picture = "image/jpeg"
    /// Largest piece that is in memory at a time, in bytes.
    private static let piece = 128 << 10

    /// - Throws: `HTTPProblem` of status 416 if the range is outside the file.
    func response(_ request: Request) throws(HTTPProblem) -> Response {
        let size = Int(file.bytes)
        var headers: HTTPFields = [
            .contentType: type, .acceptRanges: "bytes", .cacheControl: "private, no-cache",
            .contentDisposition: "attachment; filename=\"\(name)\"",
        ]
        var status = HTTPResponse.Status.ok
        let range: Range<Int>
        switch ByteRange(request.headers[.range], length: size) {
        case .whole: range = 0..<size
        case .part(let part):
            range = part
            // Even if it is the whole file: 200 would mean that the range was ignored (RFC 9110 §15.3.7).
            status = .partialContent
            headers[.contentRange] = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(size)"
        case .unsatisfiable:
            throw HTTPProblem(
                .rangeNotSatisfiable, "range-not-satisfiable", "The range is outside the file",
                detail: "\(name) has \(size) bytes", field: "Range", headers: [.contentRange: "bytes */\(size)"])
        }
        guard !range.isEmpty else { return Response(status: .ok, headers: headers) }
        return Response(status: status, headers: headers, body: body(range))
    }

    private func body(_ range: Range<Int>) -> ResponseBody {
        ResponseBody(contentLength: range.count) { [file] writer in
            var place = range.lowerBound
            while place < range.upperBound {
                let end = min(place + Self.piece, range.upperBound)
                try await writer.write(ByteBuffer(bytes: try await file.bytes(Int64(place)..<Int64(end))))
                place = end
            }
            try await writer.finish(nil)
        }
    }
}
