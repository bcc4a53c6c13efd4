import CForkServer

/// The command line of this process, as `ps` shows it.
public enum ProcessTitle {
    /// Shows these words instead of the original arguments, as far as they fit.
    ///
    /// Call it while the process has one thread. `CommandLine.arguments` stays as it was if it was read before.
    public static func set(_ words: [String]) {
        let text = words.flatMap { Array($0.utf8CString) }
        forkserver_set_title(CommandLine.unsafeArgv, text, text.count)
    }
}
