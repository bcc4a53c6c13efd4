import EventSubscription
import Foundation
import MixModel

/// The path of a program that is played over RTMP: `/program/{room}`, or `/program/{app}/{room}` as with HTTP-FLV.
package struct ProgramPath {
    /// First part of the path.
    package static let application = "program"

    private let parts: [String]

    /// Creates the path of a request; `nil` if the request is for another path.
    init?(_ request: IngestRequest) {
        let parts = "\(request.application)/\(request.name)".split(separator: "/").map { String($0) }
        guard 2...3 ~= parts.count, parts[0].utf8.elementsEqual(Self.application.utf8) else { return nil }
        // A name that is not valid percent-encoding is used literally.
        self.parts = parts.dropFirst().map { $0.removingPercentEncoding ?? $0 }
    }

    /// - Throws: `InputError` if these are not valid names of a room and an app.
    func room() throws(InputError) -> RoomID {
        let app: AppID = parts.count == 1 ? .standard : AppID(try EventParser.knownIdentifier(parts[0], field: "app"))
        return RoomID(app: app, name: try EventParser.knownIdentifier(parts[parts.count - 1], field: "room"))
    }
}
