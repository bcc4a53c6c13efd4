import EncodedMedia
import MixModel
import ServiceLifecycle
import TaskStore

extension ClusterNode {
    /// Renews leases, takes rooms that have no node, and gives up rooms that were lost, until the service shuts down.
    ///
    /// A node that ends gives its rooms to the others, unless its relays stay on air for its successor.
    package func run() async throws {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await rooms in self.losses { await self.giveUp(rooms) }
            }
            group.addTask { await self.moveRooms() }
            await cancelWhenGracefulShutdown {
                await withTaskGroup(of: Void.self) { chores in
                    chores.addTask { await self.every(self.settings.renewalInterval) { await self.renew() } }
                    chores.addTask { await self.every(self.settings.lookInterval) { await self.takeRooms() } }
                    chores.addTask { await self.every(.seconds(5)) { await self.dropIdleRooms() } }
                    chores.addTask { await self.every(self.settings.renewalInterval) { await self.lookAtHealth() } }
                    chores.addTask { await self.takeArrivals() }
                    chores.addTask { await self.every(.seconds(60)) { await self.forgetLeases() } }
                    chores.addTask { await self.every(.seconds(2)) { await self.followSubscriptions() } }
                    chores.addTask { await self.every(.seconds(2)) { self.followLayouts() } }
                    chores.addTask { await self.every(.seconds(20)) { await self.deliverForOthers() } }
                    chores.addTask { await self.followHints() }
                }
            }
            loss.finish()
            arriving.finish()
            drainRequest.finish()
        }
        registry.withLock { $0 = nil }
        subscribers.withLock { $0 = nil }
        layoutLook.withLock { $0 = nil }
        belongings.withLock { $0 = nil }
        localStreams.withLock { $0 = nil }
        localPlayers.withLock { $0 = nil }
        guard !keepsRelays else { return }
        do {
            try await base.expel(machine.withLock { $0.node })
        } catch {
            logger.error("rooms cannot be given back, others take them when the leases have run out: \(error)")
        }
    }

    private func every(_ interval: Duration, _ body: () async -> Void) async {
        while (try? await Task.sleep(for: interval)) != nil { await body() }
    }

    // MARK: Renewing

    func renew() async {
        let asked = BootClock.now()
        let (node, before) = machine.withLock { ($0.node, $0.holdings) }
        do {
            let hasLapsed = try await base.renew(node, for: settings.lease) == .lapsed
            let held = try await base.leases(of: node)
            let lost = machine.withLock { $0.renewed(held, among: before, askedAt: asked) }
            if hasLapsed || !lost.isEmpty {
                logger.warning("leases had run out", metadata: ["lost": "\(lost.count)", "node": "\(node)"])
            }
            if !lost.isEmpty { await giveUp(lost) }
            try await base.dismiss(machine.withLock { $0.strays(among: held, askedAt: asked) }, areWanted: true)
            try await announce()
        } catch StoreError.expelled {
            await beginAnotherLife(after: node)
        } catch {
            logger.error("cannot renew leases: \(error)", metadata: ["node": "\(node)"])
        }
    }

    /// Registers as a new life, without the rooms of the life that another node has ended. While a copy of this machine is
    /// at work, the node has no life and no rooms.
    private func beginAnotherLife(after former: NodeID) async {
        // A renewal and several searches for rooms may find the end at the same time.
        let isFirst = expelled.withLock { expelled in
            guard expelled != former, machine.withLock({ $0.node }) == former else { return false }
            expelled = former
            return true
        }
        guard isFirst else { return }
        defer { expelled.withLock { if $0 == former { $0 = nil } } }
        do {
            let node = try await base.register(identity, at: site, for: settings.lease)
            try await endOtherLives(than: node)
            logger.warning("the node was expelled: it gives up its rooms and continues as a new node")
            // The operator who expelled the node wants other nodes to have its rooms.
            rest.withLock { $0 = BootClock.now() + settings.lookInterval.nanoseconds * 6 }
            let lost = machine.withLock { $0.reborn(as: node) }
            await giveUp(lost)
            try await announce()
        } catch StoreError.copied(let name) {
            // The next attempt is that of the next renewal.
            rest.withLock { $0 = BootClock.now() + settings.renewalInterval.nanoseconds }
            await giveUp(machine.withLock { $0.loseAll() })
            logger.error("the node has no rooms: \(StoreError.copied(name))")
        } catch {
            logger.error("cannot register: \(error)")
        }
    }

    /// Ends the lives of this node's name that a copy of its machine has left, and lets other nodes have their rooms. A copy
    /// that was suspended could otherwise renew its leases and be at work beside `life`, which was just registered.
    ///
    /// - Throws: `StoreError.copied` if a copy has renewed its leases since `life` was registered, which is expelled then.
    ///   After other errors, the next life ends `life` as well, because its site is the same.
    private func endOtherLives(than life: NodeID) async throws(StoreError) {
        // Without a site, no copy can exist.
        guard let site else { return }
        do throws(StoreError) {
            var leases: [Lease] = []
            for other in try await base.roster() where other.node.name == identity && other.node.id != life {
                // Lives of releases without sites are not compared.
                guard let place = other.site else { continue }
                if other.isAtWork && place != site { throw StoreError.copied(identity) }
                leases = try await base.inherit(from: other.node.id, by: life)
            }
            // Their leases have run out, or no answer ever told this node about them: no relay sends for them.
            try await base.dismiss(leases, areWanted: true)
        } catch {
            // `life` has no relays, so others may have its rooms at once.
            if case .copied = error { try? await base.expel(life) }
            throw error
        }
    }

    private func giveUp(_ rooms: Set<RoomID>) async {
        for room in rooms { directory.forget(room) }
        await registry.withLock { $0 }?.abandon(rooms)
    }

    // MARK: Taking

    func takeRooms() async {
        guard !shutdown.hasBegun, rest.withLock({ $0 <= BootClock.now() }) else { return }
        do {
            try await readRoster()
            guard let registry = registry.withLock({ $0 }) else { return }
            let leases = try await claimWaiting(registry.livesToServe)
            for room in leases.compactMap(\.task.leasedRoom) {
                logger.notice("takes a room that had no node", metadata: ["room": "\(room)"])
                directory.forget(room)
                await registry.adopt(room)
                await arrived(room)
            }
        } catch StoreError.expelled {
            await renew()
        } catch {
            logger.debug("cannot look for rooms: \(error)")
        }
    }

    /// Takes the leases of rooms without a node. Hints and regular checks may do so at the same time.
    private func claimWaiting(_ lives: [RoomLife]) async throws(StoreError) -> [Lease] {
        guard !yieldsRooms else { return [] }
        let (node, share) = machine.withLock { [others = self.others] in ($0.node, $0.beginTaking(among: others)) }
        defer { machine.withLock { $0.endTaking(share) } }
        guard share > 0 else { return [] }
        let asked = BootClock.now()
        let leases = try await base.claimRooms(of: lives, by: node, limit: share, for: settings.lease)
        machine.withLock { $0.took(leases, askedAt: asked) }
        return leases
    }

    func followSubscriptions() async {
        guard let subscribers = subscribers.withLock({ $0 }) else { return }
        do {
            try await subscribers.subscriptions.refresh()
        } catch {
            logger.debug("subscriptions cannot be read: \(error)")
        }
    }

    func followLayouts() { layoutLook.withLock { $0 }?() }

    /// Delivers the messages that a lost node has left. Each message is taken by one node.
    func deliverForOthers() async {
        guard let subscribers = subscribers.withLock({ $0 }) else { return }
        do {
            subscribers.deliveries.wake(try await base.waitingSubscriptions())
        } catch {
            logger.debug("waiting messages cannot be found: \(error)")
        }
    }

    /// Makes the store forget the leases of deleted rooms. Any node does that.
    private func forgetLeases() async {
        do {
            try await base.forgetLeases(limit: 1000)
        } catch {
            logger.debug("leases of deleted rooms cannot be forgotten: \(error)")
        }
    }

    private func dropIdleRooms() async {
        guard let registry = registry.withLock({ $0 }) else { return }
        let busy = registry.roomsInMemory.union(await belongings.withLock { $0 }?.rooms ?? [])
        let idle = machine.withLock { $0.dropIdle(except: busy, at: BootClock.now()) }
        do {
            try await base.dismiss(idle, areWanted: false)
        } catch {
            logger.debug("rooms cannot be given back: \(error)")
        }
    }
}
