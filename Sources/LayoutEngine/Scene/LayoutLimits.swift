/// The limits of layouts and scenes.
public enum LayoutLimits {
    /// The most panes of a scene. People beyond it (hosts come first, then others as they joined) are heard but not
    /// seen.
    public static let mostPanes = 16
    /// The most overlays of a scene.
    public static let mostOverlays = 8
    /// The largest number of people that a condition may name.
    static let mostPeople = 1000
}
