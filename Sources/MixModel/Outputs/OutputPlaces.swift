/// A setting of the service that a kind of output requires to plan its documents, such as a directory.
public protocol OutputPlace: Hashable, Sendable {}

/// The places that a service has for outputs; at most one of each type counts.
public struct OutputPlaces: Hashable, Sendable {
    private let places: [any OutputPlace]

    public init(_ places: [any OutputPlace] = []) { self.places = places }

    /// Returns the place of this type; `nil` if the service has none, so that there are no such outputs.
    public func place<Place: OutputPlace>(_ type: Place.Type) -> Place? {
        places.lazy.compactMap { $0 as? Place }.first
    }

    public static func == (left: OutputPlaces, right: OutputPlaces) -> Bool {
        left.places.count == right.places.count && zip(left.places, right.places).allSatisfy { $0.equals($1) }
    }

    public func hash(into hasher: inout Hasher) {
        for place in places { place.hash(into: &hasher) }
    }
}

extension OutputPlace {
    fileprivate func equals(_ other: any OutputPlace) -> Bool { (other as? Self) == self }
}
