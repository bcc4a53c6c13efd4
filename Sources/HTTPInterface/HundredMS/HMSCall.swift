import EventSubscription
import Hummingbird
import MixModel

/// One call of 100ms' interface with a valid token.
struct HMSCall: Sendable {
    let key: AccessKey
    let request: Request
    /// URL of this service from the caller's point of view.
    let base: String
    /// The body; an empty body counts as an empty object.
    let body: JSONValue
    /// Parts of the path, percent-decoded.
    let id: String

    var app: AppID { key.app }

    /// Longest body, in bytes.
    static let longestBody = 64 << 10

    /// The room that the path names. It need not exist.
    func room() throws(InputError) -> RoomID {
        RoomID(app: app, name: try EventParser.identifier(id, field: "room_id"))
    }

    /// Returns the requested page of a list: the number of entries, and the last entry of the previous page.
    func page() throws(InputError) -> (limit: Int, start: String?) {
        // 100ms allows 10 to 100.
        let limit = try request.queryInteger("limit", in: 1...100) ?? 10
        return (limit, try request.queryText("start").flatMap { $0.isEmpty ? nil : $0 })
    }

    /// Returns the filter of sessions; those of all kinds for the files that they have produced.
    func filter(_ kind: HMSSession.Kind?) throws(InputError) -> HMSBook.Filter {
        HMSBook.Filter(
            kind: kind, room: try request.queryText("room_id"), session: try request.queryText("session_id"),
            status: kind == nil ? nil : try status())
    }

    func assetFilter() throws(InputError) -> HMSAsset.Filter {
        HMSAsset.Filter(status: try status(), type: try request.queryText("type"))
    }

    private func status() throws(InputError) -> HMSSession.Status? {
        try request.queryChoice("status", of: HMSSession.Status.self)
    }
}
