/// A failure of the store. Messages name the file and the remedy.
public enum StoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Another writer changed the document after it was read.
    case conflict(document: String)
    /// The task or the message now belongs to another node.
    case fenced(String)
    /// The node was declared dead, or never existed. It must register again.
    case expelled(NodeID)
    /// Too many changes are already waiting to be stored.
    case overloaded
    /// The directory or the file cannot be written.
    case notWritable(path: String, reason: String)
    /// The file is damaged or not a database.
    case corrupt(path: String, reason: String)
    /// The disk fails to read or write.
    case unreadable(path: String, reason: String)
    /// The directory, the database or its log was removed (`isGone`) or replaced after it was opened.
    case displaced(path: String, isGone: Bool)
    /// The file was written by a newer version of this program.
    case tooNew(path: String)
    /// No space is left for writing.
    case full(path: String)
    /// The database server cannot be reached.
    case unavailable(place: String, reason: String)
    /// The connection was lost while the server stored the change, and was not restored in time to ask for the result.
    case outcomeUnknown(place: String)
    /// The database's schema was written by a newer version of this program.
    case schemaTooNew(place: String, found: Int, known: Int)
    /// The database's schema belongs to a different cluster than the data directory.
    case otherCluster(place: String, found: String, expected: String)
    /// The database's schema belongs to a cluster of a different name than the configuration says; `nil` = no name.
    case otherName(place: String, found: String?, expected: String?)
    /// A service with the same name is at work at another site: on a copy of the machine or of the data directory.
    case copied(String)
    /// Any other error of the database engine.
    case engine(String)

    public var description: String {
        switch self {
        case .conflict(let document):
            "\(document) was changed by another writer: read it again and repeat the change"
        case .fenced(let what):
            "\(what) was taken over by another node, which continues it: nothing was stored here"
        case .expelled(let node):
            "the node \(node) was expelled, others may run its tasks: restart this service"
        case .overloaded:
            "too many changes wait to be stored: retry in a second"
        case .notWritable(let path, let reason):
            "cannot write to \(path): \(reason). "
                + "Create the directory, give it to the user that runs this program, or name another with --data"
        case .corrupt(let path, let reason):
            "\(path) is damaged or not a database: \(reason). Restore it from a backup, or move it away to start empty"
        case .unreadable(let path, let reason):
            "the disk of \(path) cannot be read or written: \(reason). Nothing new is accepted until it can"
        case .displaced(let path, let isGone):
            "\(path) was \(isGone ? "removed" : "replaced") while the service runs: nothing new is accepted, programs on air "
                + "go on. Put it back as it was, or restart the service to continue with the current file"
        case .tooNew(let path):
            "\(path) was written by a newer version of this program: install that version, or name another --data"
        case .full(let path):
            "no space is left for \(path): free some; nothing new is accepted until then"
        case .unavailable(let place, let reason):
            "cannot use \(place): \(reason). Nothing new is accepted until it can be used; programs on air go on"
        case .outcomeUnknown(let place):
            "\(place) was lost while it stored a change: whether the change is stored is unknown. Read before you repeat it"
        case .schemaTooNew(let place, let found, let known):
            "\(place) has version \(found) of the schema, this program knows \(known): install the version that wrote "
                + "it, or name another store.url"
        case .otherCluster(let place, let found, let expected):
            "\(place) belongs to another cluster than the data directory (\(found), not \(expected)): name the "
                + "cluster's own database in store.url, or remove the file store-cluster from the data directory to join"
        case .otherName(let place, nil, let expected):
            "\(place) is used by a cluster without a name, not by \(expected ?? "it"): name the cluster's own database in "
                + "store.url. If it is this cluster's, first set store.cluster on a service that has used the database"
        case .otherName(let place, let found?, let expected?):
            "\(place) belongs to the cluster \(found), not to \(expected): name the cluster's own database in store.url, or "
                + "set store.cluster to \(found)"
        case .otherName(let place, let found?, nil):
            "\(place) belongs to the cluster \(found): name another database in store.url, or set store.cluster to \(found) "
                + "to join it"
        case .copied(let name):
            "a service with the same machine name and data directory (\(name)) is at work on a copy of this machine or "
                + "directory: stop one of the two, or give one machine another name"
        case .engine(let message):
            "the store reports: \(message)"
        }
    }
}
