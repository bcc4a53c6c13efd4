import CLibPQ
import TaskStore

/// The database of a store, and the parameters with which to connect to it.
public struct PostgreSQLTarget: Sendable {
    /// The parameters for libpq, including the password.
    let keywords: [(name: String, value: String)]
    /// Texts that no message may contain.
    let secrets: [String]
    /// Human-readable description of the database, without secrets: `the database mix on db.example:5432`.
    public let place: String

    /// The schemes of URLs that identify a PostgreSQL database.
    public static let schemes = ["postgresql://", "postgres://"]

    /// Applied where the URL does not say otherwise. Times are in seconds, `tcp_user_timeout` in milliseconds. If one
    /// of several servers does not answer, it delays each attempt by `connect_timeout`.
    private static let defaults = [
        ("connect_timeout", "2"), ("tcp_user_timeout", "15000"), ("keepalives_idle", "10"),
        ("keepalives_interval", "5"), ("keepalives_count", "3"), ("target_session_attrs", "read-write"),
        ("application_name", "mixorchestrator"),
    ]

    /// - Parameters:
    ///   - url: A connection URI of libpq (postgresql.org/docs/15/libpq-connect.html), with several hosts if necessary.
    ///   - password: Used instead of a password in the URL.
    /// - Throws: `StoreError.engine`. The message does not quote the URL, which may contain a password.
    public init(url: String, password: String? = nil) throws(StoreError) {
        guard Self.schemes.contains(where: { url.hasPrefix($0) }), !url.utf8.contains(0) else {
            throw .engine("store.url: expected postgresql://user@host:port/database")
        }
        var options: [String: String] = [:]
        var problem: UnsafeMutablePointer<CChar>?
        guard let parsed = PQconninfoParse(url, &problem) else {
            PQfreemem(problem)
            throw .engine(
                "store.url cannot be read: expected postgresql://user@host:port/database?option=value with options of "
                    + "libpq. Characters such as @ : / % in names must be written as %40 %3A %2F %25")
        }
        var option = parsed
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { options[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        PQconninfoFree(parsed)
        let inURL = options["password"]
        if let password { options["password"] = password }
        for (name, value) in Self.defaults where options[name] == nil { options[name] = value }
        options["client_encoding"] = "UTF8"
        secrets = [password, inURL, options["sslpassword"]].compactMap(\.self)
        place = Self.place(options)
        keywords = options.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    private static func place(_ options: [String: String]) -> String {
        let hosts = (options["host"] ?? options["hostaddr"] ?? "this machine").split(separator: ",")
        let ports = (options["port"] ?? "5432").split(separator: ",")
        let servers = hosts.enumerated().map { index, host in
            "\(host):\(ports.count > index ? ports[index] : ports.last ?? "5432")"
        }
        let name = options["dbname"] ?? options["user"] ?? "of the user"
        return "the database \(name) on \(servers.joined(separator: ", "))"
    }
}
