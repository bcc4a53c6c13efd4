import ArgumentParser
import Foundation
import PostgreSQLStore
import RoomService
import TaskStore

struct StoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store", abstract: "Prepares, checks and copies the store.",
        discussion: "The configuration names the store: store.url, or the SQLite file in the data directory.",
        subcommands: [StoreMigrateCommand.self, StoreCheckCommand.self, StoreCopyCommand.self, StoreExpelCommand.self])
}

/// The options of all commands about the store.
struct StoreOptions: ParsableArguments {
    @Option(help: "YAML file with the configuration.")
    var config: String?
    @Option(help: "Data directory. Default ./data.")
    var data: String?

    func configuration() throws -> OrchestratorConfiguration {
        try OrchestratorConfiguration(
            ConfigurationKeys.reader(file: config), file: config, overrides: .init(data: data))
    }

    /// Runs `body`. On an error, prints it in one line and exits with code 1.
    func run(_ body: (OrchestratorConfiguration) throws -> Void) throws {
        do {
            try body(configuration())
        } catch let error as StartupError {
            try Self.fail("\(error)")
        } catch let error as StoreError {
            try Self.fail("\(error)")
        }
    }

    static func fail(_ message: String) throws -> Never {
        FileHandle.standardError.write(Data("mixorchestrator: \(message)\n".utf8))
        throw ExitCode(1)
    }
}

struct StoreMigrateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate", abstract: "Creates the tables, or brings them up to date.",
        discussion: "`serve` does the same when it starts. If several processes start at once, one of them does it.")

    @OptionGroup var options: StoreOptions

    func run() throws {
        try options.run { configuration in
            if let target = configuration.store.target {
                let cluster = ClusterMembership(data: configuration.data).cluster
                let done = try PostgreSQLAdministration.migrate(
                    target, cluster: cluster, name: configuration.store.cluster)
                print(
                    done.before == done.after
                        ? "\(target.place) has version \(done.after) already, cluster \(done.cluster)"
                        : "\(target.place) has version \(done.after) now (before: \(done.before)), cluster \(done.cluster)"
                )
            } else {
                let lock = try DataDirectory(configuration.data)
                defer { lock.release() }
                let contents = try SQLiteContents(path: StoreOpening.path(data: configuration.data), creates: true)
                contents.close()
                print("\(contents.place) is up to date")
            }
        }
    }
}

struct StoreCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Checks the store and counts its rows, without writing to the database.")

    @OptionGroup var options: StoreOptions

    func run() throws {
        try options.run { configuration in
            guard let target = configuration.store.target else {
                let lock = try DataDirectory(configuration.data, creates: false)
                defer { lock.release() }
                let contents = try SQLiteContents(path: StoreOpening.path(data: configuration.data), creates: false)
                defer { contents.close() }
                print("store     \(contents.place)")
                try contents.transaction {
                    for table in StoredTable.all { Self.show(table.name, try contents.count(table)) }
                }
                return
            }
            let report = try PostgreSQLAdministration.inspect(
                target, cluster: ClusterMembership(data: configuration.data).cluster, name: configuration.store.cluster,
                counting: true)
            print("store     \(target.place), PostgreSQL \(report.server)")
            guard let cluster = report.cluster else {
                return print("schema    empty: `mixorchestrator store migrate` or `serve` creates the tables")
            }
            print("schema    version \(report.version) of \(report.knownVersion)")
            print("cluster   \(cluster)\(report.name.map { " (\($0))" } ?? "")")
            print("services  \(report.services.isEmpty ? "none" : report.services.joined(separator: ", "))")
            for (table, rows) in report.counts { Self.show(table, rows) }
        }
    }

    private static func show(_ table: String, _ rows: Int) {
        print(table.padding(toLength: 17, withPad: " ", startingAt: 0) + "\(rows)")
    }
}

struct StoreCopyCommand: ParsableCommand {
    enum Engine: String, ExpressibleByArgument, CaseIterable { case postgresql, sqlite }

    static let configuration = CommandConfiguration(
        commandName: "copy", abstract: "Copies the whole store between the data directory and a database.",
        discussion: """
            Copies everything in one transaction, compares every row afterwards, and prints the number of rows of \
            each table. The target must be empty, and no service may be running. store.url names the database in both \
            directions.
            """)

    @OptionGroup var options: StoreOptions
    @Option(help: "Target: postgresql (store.url) or sqlite (the file in the data directory).")
    var to: Engine

    func run() throws {
        try options.run { configuration in
            guard let target = configuration.store.target else {
                throw StartupError("store.url: expected postgresql://user@host/database, to copy to or from")
            }
            let lock = try DataDirectory(configuration.data, creates: to == .sqlite)
            defer { lock.release() }
            let membership = ClusterMembership(data: configuration.data)
            // Before anything is created in the target.
            let report = try PostgreSQLAdministration.inspect(
                target, cluster: membership.cluster, name: configuration.store.cluster, counting: false)
            guard to == .postgresql || report.version > 0 else {
                throw StartupError("\(target.place) is empty: there is nothing to copy")
            }
            let file = try SQLiteContents(path: StoreOpening.path(data: configuration.data), creates: to == .sqlite)
            defer { file.close() }
            let database = try PostgreSQLContents(
                target, name: configuration.store.cluster, isMember: membership.cluster != nil)
            // Otherwise the database would refuse the next service until the lease of the one that has just stopped ends.
            if to == .postgresql { try file.endLeases() }
            let (source, place): (any StoreContents, any StoreContents) =
                to == .postgresql ? (file, database) : (database, file)
            for (table, rows) in try StoreCopy.copy(from: source, to: place) {
                print(table.padding(toLength: 17, withPad: " ", startingAt: 0) + "\(rows)")
            }
            print("copied and compared: \(source.place) to \(place.place)")
        }
    }
}
