"""The engines that search our own tree: what they have in common, and the choice of one."""
