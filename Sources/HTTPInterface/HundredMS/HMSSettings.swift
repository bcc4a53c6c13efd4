import EventSubscription
import MixModel
import RoomService

/// Settings of 100ms' interface.
package struct HMSSettings: Sendable {
    /// Whether 100ms' own limits apply: one stream or recording of a room at a time, three URLs, a page for each, and
    /// only rooms that exist.
    package var isStrict = false
    /// URL of the page for calls without `meeting_url`, containing `{room}`; `nil` means the room's program without a
    /// page.
    package var meetingURL: String?
    /// URL of this service from its callers' point of view, without a trailing slash; `nil` means as in their requests.
    package var publicURL: String?
    /// Heights of HLS renditions in addition to the program.
    package var renditions: [Int] = []
    /// Seconds after which a stream ends by itself; 0 means never.
    package var maxSeconds = 14_400.0
    /// Seconds after the last participant has left at which a stream ends by itself; 0 means never.
    package var emptySeconds = 300.0
    package var webhook: HMSWebhooks.Settings?
    /// Warnings for the operator that do not prevent the start.
    package var warnings: [String] = []
    /// Interval between two observations of the rooms with streams.
    var interval = Duration.milliseconds(500)
    /// Pauses in seconds before a webhook is sent again. After the last one, it is given up.
    var pauses: [Double] = [1, 3, 10]

    package static let durations = 0.0...604_800.0

    package init() {}

    /// Largest number of URLs of one stream.
    var mostURLs: Int { isStrict ? 3 : 10 }

    var limits: HMSSession.Limits { HMSSession.Limits(longest: maxSeconds, empty: emptySeconds) }

    /// Returns the page of a room for calls that do not name one; `nil` if there is none.
    func meetingURL(of room: RoomID) -> String? {
        meetingURL.map { EventParser.substitute($0, ["room": room.name, "app": room.app.rawValue]) }
    }
}
