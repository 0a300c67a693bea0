"""The page where people drop a clip, type sentences, watch and correct the masks, and take them away."""
