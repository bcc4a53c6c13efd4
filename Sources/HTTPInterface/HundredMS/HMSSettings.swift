import EventSubscription
import MixModel
import RoomService

/// Configured rules of 100ms' interface.
package struct HMSSettings: Sendable {
    /// Whether 100ms' own limits hold: one stream or recording of a room at a time, three URLs, a page for each.
    package var isStrict = false
    /// URL of the page that a call without `meeting_url` means, with `{room}` in it; `nil` = the room's program as it is.
    package var meetingURL: String?
    /// URL of this service as its callers know it, without a slash at its end; `nil` = as in their requests.
    package var publicURL: String?
    /// Heights of HLS renditions beside the program.
    package var renditions: [Int] = []
    /// Seconds after which a stream ends by itself; 0 = never.
    package var maxSeconds = 14_400.0
    /// Seconds after the last participant left at which a stream ends by itself; 0 = never.
    package var emptySeconds = 300.0
    package var webhook: HMSWebhooks.Settings?
    /// Warnings for the operator that do not prevent the start.
    package var warnings: [String] = []
    /// Interval between two looks at the rooms with streams.
    var interval = Duration.milliseconds(500)
    /// Pauses before a webhook is sent again. After the last one it is given up.
    var pauses: [Double] = [1, 3, 10]

    package static let durations = 0.0...604_800.0

    package init() {}

    /// Most URLs of one stream.
    var mostURLs: Int { isStrict ? 3 : 10 }

    var limits: HMSSession.Limits { HMSSession.Limits(longest: maxSeconds, empty: emptySeconds) }

    /// Returns the page of a room that a call does not name; `nil` = none.
    func meetingURL(of room: RoomID) -> String? {
        meetingURL.map { EventParser.substitute($0, ["room": room.name, "app": room.app.rawValue]) }
    }
}
