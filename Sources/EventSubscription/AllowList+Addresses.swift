import TextFormats

extension AllowList {
    /// Returns whether the URL is allowed and may be fetched from this address, to which its host was resolved. Addresses of
    /// local networks must be spelt out in an entry, so that a name cannot lead there.
    public func allows(_ url: StreamURL, at address: InternetAddress) -> Bool {
        guard allows(url) else { return false }
        if address.isPublic { return true }
        // An empty list that allows the URL allows loopback addresses.
        return entries.isEmpty ? address.isLoopback : entries.contains { $0.allows(url.at(address)) }
    }

    /// The hosts that entries list for requests over HTTP. Nothing for an empty list.
    public var hosts: HostList {
        HostList(
            entries: entries.filter { ["*", "http", "https"].contains($0.scheme) }.map { entry in
                HostList.Entry(
                    scheme: entry.scheme == "*" ? nil : entry.scheme, host: entry.host,
                    port: entry.port.flatMap { Int($0) })
            })
    }

    /// Limits that relays apply after resolving a host: the addresses of local networks that entries spell out. Names
    /// are not included, because they were checked before.
    public var reach: Reach {
        guard !entries.isEmpty else { return allowsNothing ? Reach(places: []) : .loopback }
        return Reach(
            places: entries.filter(\.spellsAddress).map { entry in
                Reach.Place(
                    scheme: entry.scheme == "*" ? nil : entry.scheme, address: entry.host,
                    port: entry.port.flatMap { Int($0) })
            })
    }
}
