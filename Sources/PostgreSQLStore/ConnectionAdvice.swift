/// Adds the remedy to libpq's messages about failed connections.
enum ConnectionAdvice {
    private static let account =
        "check the user in store.url, the password in store.passwordFile and the server's pg_hba.conf"

    private static let remedies: [(words: [String], remedy: String)] = [
        // Without `sslmode`, libpq tries again without TLS after any refusal, so a wrong password comes first.
        (["password authentication failed", "no password supplied", "SCRAM"], account),
        (
            ["no encryption", "SSL off"],
            "check the server's pg_hba.conf; if it accepts encrypted connections only, set sslmode=verify-full and "
                + "sslrootcert in store.url"
        ),
        (["no pg_hba.conf entry"], account),
        (["database \"", "does not exist"], "create the database, or name another in store.url"),
        (
            ["session is read-only", "hot standby", "in recovery"],
            "name the primary, or all servers of the cluster, in store.url: the one that writes is used"
        ),
        (
            ["too many clients", "too many connections", "remaining connection slots"],
            "raise max_connections of the server, or CONNECTION LIMIT of the user: each node uses up to six connections"
        ),
        (["invalid "], "check store.url"),
        (["SSL", "certificate"], "check sslmode and sslrootcert in store.url"),
        (
            ["Connection refused", "could not translate", "timeout expired", "No such file", "No route", "timed out"],
            "check that the server runs, and host and port in store.url"
        ),
    ]

    /// Returns the message with the remedy from the first matching row of the table.
    static func message(_ text: String) -> String {
        let found = remedies.first { entry in
            entry.words[0].hasSuffix("\"")
                ? entry.words.allSatisfy { text.contains($0) } : entry.words.contains { text.contains($0) }
        }
        return found.map { "\(text): \($0.remedy)" } ?? text
    }
}
