import EventSubscription
import Foundation
import MixModel

/// The path of a program that is played over RTMP: `/program/{room}`, or `/program/{app}/{room}` as with HTTP-FLV.
package struct ProgramPath {
    /// First part of the path.
    package static let application = "program"

    private let parts: [String]

    /// Creates the path of a request; `nil` if it is another one.
    init?(_ request: IngestRequest) {
        let parts = "\(request.application)/\(request.name)".split(separator: "/").map { String($0) }
        guard 2...3 ~= parts.count, parts[0].utf8.elementsEqual(Self.application.utf8) else { return nil }
        // Of a name that is no percent-encoding, every character is its own.
        self.parts = parts.dropFirst().map { $0.removingPercentEncoding ?? $0 }
    }

    /// - Throws: `InputError` if room or app cannot have these names.
    func room() throws(InputError) -> RoomID {
        let app: AppID = parts.count == 1 ? .standard : AppID(try EventParser.knownIdentifier(parts[0], field: "app"))
        return RoomID(app: app, name: try EventParser.knownIdentifier(parts[parts.count - 1], field: "room"))
    }
}
