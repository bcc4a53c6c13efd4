import ArgumentParser
import PostgreSQLStore
import RoomService
import TaskStore

struct StoreExpelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "expel", abstract: "Releases the rooms of a node that has failed.",
        discussion: """
            The other nodes take over its rooms at once, without waiting for its lease to expire. Make sure that the node's \
            machine is off or its relays have ended: otherwise two relays push to the same destinations.
            """)

    @OptionGroup var options: StoreOptions
    @Argument(help: "The node.id of the node, as in `GET /v1/nodes`.")
    var node: String

    func run() async throws {
        let configuration = try options.configuration()
        do {
            guard let target = configuration.store.target else {
                throw StartupError(
                    "store.url: expected postgresql://user@host/database: a store in a file has one node")
            }
            let cluster = ClusterMembership(data: configuration.data).cluster
            // A store that is opened creates or updates its tables: nothing may happen to another database, or to the
            // schema of nodes of another release.
            let name = configuration.store.cluster
            let report = try PostgreSQLAdministration.inspect(target, cluster: cluster, name: name, counting: false)
            guard report.version > 0 else {
                throw StartupError("\(target.place) is empty: name the database of the nodes in store.url")
            }
            guard report.version == report.knownVersion else {
                throw StartupError(
                    "\(target.place) has version \(report.version) of the schema, this program writes version "
                        + "\(report.knownVersion): run the mixorchestrator of the nodes' release")
            }
            let store = try PostgreSQLTaskStore(target, cluster: cluster, name: name)
            do {
                let found = try await store.roster().filter { $0.profile?.name == node || $0.node.id.rawValue == node }
                guard !found.isEmpty else {
                    throw StartupError("there is no node \(node): `mixorchestrator store check` lists the services")
                }
                for entry in found {
                    try await store.expel(entry.node.id)
                    print("expelled  \(entry.profile?.name ?? entry.node.name) (\(entry.node.id))")
                }
            } catch {
                await store.close()
                throw error
            }
            await store.close()
        } catch let error as StartupError {
            try StoreOptions.fail("\(error)")
        } catch let error as StoreError {
            try StoreOptions.fail("\(error)")
        }
    }
}
