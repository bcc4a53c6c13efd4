/// The paths of media servers' hooks.
enum HookPath {
    /// Beginning of the paths. A secret may follow, so what follows is never logged.
    static let prefix = "/v1/hooks/"
}
