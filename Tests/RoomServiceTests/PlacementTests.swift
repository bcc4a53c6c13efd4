import TaskStore
import Testing

@testable import RoomService

/// The choice of a node for a room.
@Suite struct PlacementTests {
    private func node(
        _ name: String, rooms: Int = 0, capacity: Int? = nil, free: Double? = nil, region: String? = nil,
        ingest: String? = nil, trouble: String? = nil, isDraining: Bool = false, isAtWork: Bool = true
    ) -> NodeEntry {
        NodeEntry(
            node: Node(id: NodeID("\(name)#1"), name: name),
            profile: NodeProfile(
                name: name, url: "http://\(name)", key: "", isDraining: isDraining, rooms: rooms, capacity: capacity,
                ingest: ingest, region: region, cores: free.map { NodeCores(total: 4, free: $0) }, trouble: trouble),
            isAtWork: isAtWork)
    }

    private func order(_ placement: Placement, _ entries: [NodeEntry], wary: Set<NodeID> = []) -> [String] {
        placement.ranked(entries, wary: wary).map(\.node.name)
    }

    @Test func onlyNodesThatTakeRoomsAreChosen() {
        let useless = [
            node("full", rooms: 2, capacity: 2), node("draining", isDraining: true), node("gone", isAtWork: false),
            NodeEntry(node: Node(id: "alone#1", name: "alone"), profile: nil, isAtWork: true),
        ]
        #expect(order(Placement(), useless + [node("b", rooms: 1, capacity: 2)]) == ["b"])
        #expect(order(Placement(), useless) == [])
        // Better than none.
        let sick = node("sick", trouble: "no disk")
        #expect(order(Placement(), useless + [sick, node("b", free: 0)], wary: ["b#1"]) == ["b", "sick"])
        #expect(!sick.takesRooms && order(Placement(), [sick]) == ["sick"])
    }

    @Test func freeCoresCountMoreThanSourcesAndThoseMoreThanTheRegion() {
        let nodes = [
            node("crowded", free: 0.1, region: "eu", ingest: "10.0.0.1:1935"), node("far", free: 4, region: "us"),
            node("near", free: 2, region: "eu"),
            node("source", rooms: 9, free: 1, region: "us", ingest: "10.0.0.2:1935"),
        ]
        let placement = Placement(region: "eu", sources: ["10.0.0.1:1935", "10.0.0.2:1935"])
        #expect(order(placement, nodes) == ["source", "near", "far", "crowded"])
        #expect(order(placement, nodes, wary: ["source#1"]) == ["near", "far", "crowded", "source"])
        #expect(order(Placement(), nodes) == ["far", "near", "source", "crowded"])
    }

    @Test func roomsDecideAmongNodesThatAreAlikeOrSayNothing() {
        #expect(
            order(Placement(), [node("b", rooms: 3), node("c", rooms: 1), node("d", rooms: 2)]) == ["c", "d", "b"])
        // A difference of a few hundredths of the cores does not decide.
        #expect(order(Placement(), [node("b", rooms: 3, free: 3.22), node("c", rooms: 1, free: 3.18)]) == ["c", "b"])
    }

    @Test func aNodeWithoutCoresYieldsToOneThatHasSome() {
        let (none, some) = (NodeCores(total: 4, free: 0.2), NodeCores(total: 4, free: 3.18))
        #expect(Placement.isCrowded(none, among: [node("b", free: 1)]))
        #expect(!Placement.isCrowded(some, among: [node("b", free: 4)]))
        #expect(!Placement.isCrowded(nil, among: [node("b", free: 4)]), "no limit")
        for useless in [
            node("b", free: 0.3), node("b", free: 4, isDraining: true), node("b", free: 4, trouble: "no disk"),
            node("b"),
        ] {
            #expect(!Placement.isCrowded(none, among: [useless]))
        }
    }
}
