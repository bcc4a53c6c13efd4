import HTTPTypes
import Hummingbird

/// The answer with a recorded file or its picture, or with the part of it that the request names.
struct FileDownload: Sendable {
    var path: String
    /// Name under which the file is saved.
    var name: String
    /// Size in bytes.
    var size: Int
    /// Media type.
    var type = FileDownload.video

    static let video = "video/mp4"
    static let picture = "image/jpeg"

    /// - Throws: `HTTPProblem` of status 416 if the range is outside the file.
    func response(_ request: Request, _ context: some RequestContext) async throws -> Response {
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
        let body = try await FileIO().loadFile(
            path: path, range: range.lowerBound...range.upperBound - 1, context: context)
        return Response(status: status, headers: headers, body: body)
    }
}
