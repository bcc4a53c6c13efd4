/// Why the store did not do what it was asked to. Messages name the file and the cure.
public enum StoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The document was changed by somebody else since it was read.
    case conflict(document: String)
    /// The directory or the file cannot be written.
    case notWritable(path: String, reason: String)
    /// The file is not a database, or a damaged one.
    case corrupt(path: String, reason: String)
    /// The file was written by a newer version of this program.
    case tooNew(path: String)
    /// No space is left for writing.
    case full(path: String)
    /// Anything else that the engine reports.
    case engine(String)

    public var description: String {
        switch self {
        case .conflict(let document):
            "\(document) was changed by another writer: read it again and repeat the change"
        case .notWritable(let path, let reason):
            "cannot write to \(path): \(reason). "
                + "Create the directory, give it to the user that runs this program, or name another with --data"
        case .corrupt(let path, let reason):
            "\(path) is damaged or not a database: \(reason). Restore it from a backup, or move it away to start empty"
        case .tooNew(let path):
            "\(path) was written by a newer version of this program: install that version, or name another --data"
        case .full(let path):
            "no space is left for \(path): free some, nothing new is accepted until then"
        case .engine(let message):
            "the store reports: \(message)"
        }
    }
}
