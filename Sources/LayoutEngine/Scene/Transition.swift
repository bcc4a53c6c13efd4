/// The way in which a running mixer changes from one scene to the next.
public struct Transition: Hashable, Codable, Sendable {
    /// Duration in ms, 0…5000. At 0 the next frame shows the new scene.
    public var duration: Int
    public var easing: Easing

    public init(duration: Int, easing: Easing = .easeInOut) {
        self.duration = duration
        self.easing = easing
    }

    public static let cut = Transition(duration: 0, easing: .linear)

    public enum Easing: String, Hashable, Codable, Sendable, CaseIterable {
        case linear
        case easeIn = "ease-in"
        case easeOut = "ease-out"
        case easeInOut = "ease-in-out"
    }
}
