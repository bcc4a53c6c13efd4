/// The limits of layouts and scenes.
public enum LayoutLimits {
    /// Maximum number of panes in a scene. People beyond it (hosts come first, then others in join order) are heard but
    /// not seen.
    public static let mostPanes = 16
    /// Maximum number of overlays in a scene.
    public static let mostOverlays = 8
    /// Maximum number of people that a condition may name.
    static let mostPeople = 1000
}
