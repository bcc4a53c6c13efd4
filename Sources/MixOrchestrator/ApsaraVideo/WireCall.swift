import MixModel

/// A call whose signature is right.
struct WireCall: Sendable {
    var action: String
    var parameters: WireParameters
    /// Of the access key, which is the one that the call names.
    var app: AppID
    /// In ns of CLOCK_MONOTONIC.
    var receivedAt: Int64

    /// - Throws: `CallError` when the access key is another app's.
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

    /// Actions that may leave it out.
    private static let withoutApp: Set<String> = ["ListRTCLiveRooms"]

    /// The caller's room of the name that `ChannelId` says, which may not exist.
    func room() throws(CallError) -> RoomID {
        let name = try TaskParameters.name(
            "ChannelId", parameters.required("ChannelId", "the channel's id"), longest: 64)
        return RoomID(app: app, name: name)
    }

    /// The caller's task, which may not exist.
    func task() throws(CallError) -> TaskID {
        TaskID(app: app, name: try TaskParameters.taskName(parameters))
    }
}
