import MixModel

/// A call whose signature is valid.
struct WireCall: Sendable {
    var action: String
    var parameters: WireParameters
    /// The app of the access key. If the call names an app, it is the same one.
    var app: AppID
    /// Time of arrival, in ns of CLOCK_MONOTONIC.
    var receivedAt: Int64

    /// - Throws: `CallError` if the call names another app than the access key's, or omits an app that its action
    ///   requires.
    init(action: String, parameters: WireParameters, key: AccessKey, receivedAt: Int64) throws(CallError) {
        self.action = action
        self.parameters = parameters
        self.receivedAt = receivedAt
        app = key.app
        guard let named = parameters["AppId"] else {
            guard Self.withoutApp.contains(action) else { throw .missing("AppId", "the app's id") }
            return
        }
        guard AppID(named) == key.app else {
            throw CallError(
                .badRequest, "InvalidAppId",
                "AppId: found \"\(named.prefix(bytes: 64))\"; expected \"\(key.app)\", the app of the access key")
        }
    }

    /// Actions that may omit `AppId`.
    private static let withoutApp: Set<String> = ["ListRTCLiveRooms"]

    /// Returns the caller's room that `ChannelId` names. The room may not exist.
    func room() throws(CallError) -> RoomID {
        let name = try TaskParameters.name(
            "ChannelId", parameters.required("ChannelId", "the channel's id"), longest: 64)
        return RoomID(app: app, name: name)
    }

    /// Returns the caller's task that `TaskId` names. The task may not exist.
    func task() throws(CallError) -> TaskID {
        TaskID(app: app, name: try TaskParameters.taskName(parameters))
    }
}
