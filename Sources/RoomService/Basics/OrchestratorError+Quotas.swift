import MixModel

extension OrchestratorError {
    /// A quota as it appears in problem details.
    package struct Quota: Hashable, Sendable {
        package var name: Quotas.Name
        package var limit: Int
    }

    static func overQuota(_ name: Quotas.Name, _ limit: Int, _ app: AppID) -> OrchestratorError {
        let (what, cure) =
            switch name {
            case .rooms: ("rooms", "delete some with DELETE /v1/rooms/{room}")
            case .tasks: ("tasks at a time", "end some with DELETE /v1/tasks/{task}")
            case .subscriptions: ("subscriptions", "delete some with DELETE /v1/subscriptions/{subscription}")
            case .feeds: ("feed listeners at a time", "end some, or use a subscription (POST /v1/subscriptions)")
            case .participants: ("participants in a room", "remove some, or use another room")
            case .publishers: ("publishers at this node's ingest at a time", "end some")
            case .storedBytes: ("bytes in its rooms' documents", "delete rooms with DELETE /v1/rooms/{room}")
            }
        var error = OrchestratorError(
            .conflict, "quota-exceeded", "The app's quota is used up",
            detail:
                "\(name.rawValue): the app \(app) may have \(limit) \(what): \(cure), or raise quotas.\(name.rawValue) "
                + "in the configuration, or for this app alone under apps")
        error.quota = Quota(name: name, limit: limit)
        return error
    }
}
