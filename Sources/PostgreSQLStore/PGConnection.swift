import CLibPQ
import Foundation

/// A connection to the server. It blocks, and belongs to the thread that made it.
final class PGConnection {
    let handle: OpaquePointer
    private let secrets: [String]
    /// The names of prepared statements, by text.
    private var prepared: [String: String] = [:]

    /// The longest time that an answer may take. A server that is suspended keeps its connections open.
    static let answerLimit: Duration = .seconds(30)

    /// Connects and sets up the session.
    ///
    /// - Throws: `PGFailure` of the kind `unreachable`, with the remedy.
    init(_ target: PostgreSQLTarget) throws(PGFailure) {
        secrets = target.secrets
        let handle = Self.connect(target.keywords)
        guard let handle else { throw PGFailure(.unreachable, "no memory for a connection") }
        self.handle = handle
        guard PQstatus(handle) == CONNECTION_OK else {
            let message = Self.line(PQerrorMessage(handle), hiding: target.secrets)
            throw PGFailure(.unreachable, ConnectionAdvice.message(message))
        }
        // Notices would otherwise go to standard error.
        PQsetNoticeProcessor(handle, { _, _ in }, nil)
        do {
            try run(Self.setup)
        } catch {
            throw PGFailure(.unreachable, error.message, state: error.state)
        }
    }

    deinit { PQfinish(handle) }

    /// A commit that is not durable is useless. A transaction whose owner is gone must end, because the next owner
    /// waits for its locks.
    private static let setup = """
        SET client_min_messages = warning;
        SET bytea_output = hex;
        SET default_transaction_isolation = 'read committed';
        SET idle_in_transaction_session_timeout = '15s';
        SET statement_timeout = '25s';
        SET lock_timeout = '10s';
        SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
        """

    private static func connect(_ keywords: [(name: String, value: String)]) -> OpaquePointer? {
        let names = keywords.map { strdup($0.name) }
        let values = keywords.map { strdup($0.value) }
        defer { for text in names + values { free(text) } }
        let ended = (names.map { UnsafePointer($0) } + [nil], values.map { UnsafePointer($0) } + [nil])
        return PQconnectdbParams(ended.0, ended.1, 0)
    }

    /// Whether the connection can be used. A broken connection stays broken.
    var isUsable: Bool { PQstatus(handle) == CONNECTION_OK }

    // MARK: Statements

    /// Runs statements without parameters, separated by semicolons.
    func run(_ statements: String) throws(PGFailure) {
        guard PQsendQuery(handle, statements) == 1 else { throw failure() }
        var failed: PGFailure?
        while let result = try next() {
            defer { PQclear(result) }
            do { _ = try Self.read(result, hiding: secrets, isLost: !isUsable) } catch { failed = failed ?? error }
        }
        if let failed { throw failed }
    }

    /// Runs one statement, which is prepared at its first use. There must be few different texts, because each is kept.
    @discardableResult
    func execute(_ statement: String, _ values: [SQLValue] = []) throws(PGFailure) -> SQLResult {
        try execute(statement, EncodedParameters(values))
    }

    func execute(_ statement: String, _ parameters: EncodedParameters) throws(PGFailure) -> SQLResult {
        let name = try prepare(statement, parameters.count)
        guard send(name, parameters) else { throw failure() }
        return try result()
    }

    /// Runs statements one after another with a single wait for all answers. If one fails, the rest are skipped.
    func pipeline(
        _ statements: [(text: String, parameters: EncodedParameters)]
    ) throws(PGFailure) -> [SQLResult] {
        var names: [String] = []
        for statement in statements { names.append(try prepare(statement.text, statement.parameters.count)) }
        guard PQenterPipelineMode(handle) == 1 else { throw failure() }
        for (name, statement) in zip(names, statements) {
            guard send(name, statement.parameters) else { throw failure() }
        }
        guard PQpipelineSync(handle) == 1 else { throw failure() }
        var results: [SQLResult] = []
        var failed: PGFailure?
        for _ in statements {
            do { results.append(try result()) } catch {
                failed = failed ?? error
                guard isUsable else { throw error }
            }
        }
        guard let end = try next() else { throw failure() }
        PQclear(end)
        guard PQexitPipelineMode(handle) == 1 else { throw failure() }
        if let failed { throw failed }
        return results
    }

    private func prepare(_ statement: String, _ parameters: Int) throws(PGFailure) -> String {
        if let name = prepared[statement] { return name }
        let name = "s\(prepared.count)"
        guard PQsendPrepare(handle, name, statement, 0, nil) == 1 else { throw failure() }
        _ = try result()
        prepared[statement] = name
        return name
    }

    private func send(_ name: String, _ parameters: EncodedParameters) -> Bool {
        parameters.withPointers { pointers, lengths, formats in
            PQsendQueryPrepared(handle, name, Int32(pointers.count), pointers, lengths, formats, 0) == 1
        }
    }

    // MARK: Answers

    /// Returns the single result of a statement.
    private func result() throws(PGFailure) -> SQLResult {
        var found: Result<SQLResult, PGFailure>?
        while let result = try next() {
            defer { PQclear(result) }
            do throws(PGFailure) {
                let read = try Self.read(result, hiding: secrets, isLost: !isUsable)
                found = found ?? .success(read)
            } catch {
                found = .failure(error)
            }
        }
        guard let found else { throw failure() }
        return try found.get()
    }

    /// Waits for the next result; `nil` at the end of a statement's results.
    private func next() throws(PGFailure) -> OpaquePointer? {
        let end = ContinuousClock.now + Self.answerLimit
        while PQisBusy(handle) == 1 {
            let left = ContinuousClock.now.duration(to: end).components.seconds
            var poll = pollfd(fd: PQsocket(handle), events: Int16(POLLIN), revents: 0)
            guard left > 0, poll.fd >= 0, Glibc.poll(&poll, 1, Int32(left * 1000)) != 0 else {
                if let socket = Int32(exactly: PQsocket(handle)), socket >= 0 {
                    // A later answer must not be taken for the answer to another statement.
                    shutdown(socket, Int32(SHUT_RDWR))
                    _ = PQconsumeInput(handle)
                }
                throw PGFailure(.lost, "no answer within \(Self.answerLimit.components.seconds) s")
            }
            guard PQconsumeInput(handle) == 1 else { throw failure() }
        }
        return PQgetResult(handle)
    }

    func failure() -> PGFailure {
        PGFailure(isUsable ? .refused : .lost, Self.line(PQerrorMessage(handle), hiding: secrets))
    }

    private static func read(
        _ result: OpaquePointer, hiding secrets: [String], isLost: Bool
    ) throws(PGFailure) -> SQLResult {
        switch PQresultStatus(result) {
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: break
        case PGRES_PIPELINE_ABORTED: throw PGFailure(.refused, "an earlier statement failed", state: "25P02")
        default:
            let state = PQresultErrorField(result, 67 /* PG_DIAG_SQLSTATE, 'C' */).map { String(cString: $0) }
            let primary = PQresultErrorField(result, 77 /* PG_DIAG_MESSAGE_PRIMARY, 'M' */)
            let message = line(primary ?? PQresultErrorMessage(result), hiding: secrets)
            throw PGFailure(isLost ? .lost : .refused, message, state: state)
        }
        let (rows, width) = (PQntuples(result), PQnfields(result))
        let columns = SQLRow.Columns((0..<width).map { PQfname(result, $0).map { String(cString: $0) } ?? "" })
        let read = (0..<rows).map { row in
            SQLRow(columns, (0..<width).map { cell(result, row, $0) })
        }
        return SQLResult(rows: read, affected: PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0)
    }

    private static func cell(_ result: OpaquePointer, _ row: Int32, _ column: Int32) -> String? {
        guard PQgetisnull(result, row, column) == 0, let start = PQgetvalue(result, row, column) else { return nil }
        let bytes = UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(result, row, column)))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns a message as a single line of at most 400 bytes, without secrets.
    private static func line(_ message: UnsafePointer<CChar>?, hiding secrets: [String]) -> String {
        var text = message.map { String(cString: $0) } ?? ""
        for secret in secrets where !secret.isEmpty { text = text.replacing(secret, with: "***") }
        let words = text.split { $0.isWhitespace }.joined(separator: " ")
        return words.isEmpty ? "the connection is gone" : String(decoding: words.utf8.prefix(400), as: UTF8.self)
    }
}
