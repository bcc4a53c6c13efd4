/// The paths of media servers' hooks.
enum HookPath {
    /// Beginning of the paths. A secret may follow, so the rest of the path is never logged.
    static let prefix = "/v1/hooks/"
}
